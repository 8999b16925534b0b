"""Log: a Delta table's rows, read by its protocol and without any code of the product."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

READ = pa.schema(
    [("windowEnd", pa.timestamp("us", "UTC")), ("shop", pa.string()), ("sales", pa.int64())]
)


def is_table(folder: Path) -> bool:
    """Whether there is a table in the folder."""
    return any((folder / "_delta_log").glob("*.json"))


def records(folder: Path, at: int | None = None) -> list[dict[str, Any]]:
    """Its rows at a version, or now; none without a table."""
    found: list[dict[str, Any]] = []
    for name, parts in entries(folder, at).items():
        if parts.get("_sluice_deleted") == "true":
            continue  # a delete that is remembered
        found += _content(str((folder / name).resolve(strict=True)))
    return found


def files(folder: Path, at: int | None = None) -> frozenset[str]:
    """The names of the files that it has at a version, or now, without their folders."""
    return frozenset(Path(each).name for each in entries(folder, at))


def entries(folder: Path, at: int | None) -> dict[str, dict[str, str]]:
    """File -> the values by which it is a part of the table."""
    added: dict[str, dict[str, str]] = {}
    for commit in sorted((folder / "_delta_log").glob("*.json")):
        if at is not None and int(commit.stem) > at:
            break
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                added.pop(action["remove"]["path"], None)
        for action in actions:
            if "add" in action:
                assert not action["add"].get("deletionVector")
                added[action["add"]["path"]] = action["add"]["partitionValues"]
    return added


@cache
def _content(file: str) -> list[dict[str, Any]]:
    """A file never changes."""
    rows: list[dict[str, Any]] = (
        pq.read_table(file, columns=READ.names).cast(READ).to_pylist()  # type: ignore[no-untyped-call]
    )
    return rows
