"""Log entries: what each commit of a table says of itself, newest first; and the checksum beside
the first one, which has no rows yet.

delta-rs, which makes the tables, writes no checksum. Delta's Spark builds each version's from the
one before, and where that is missing it reads the whole table's state first, in a Spark job that
costs a first batch half a second (bench/NOTES.md).

Source: "Version Checksum File" in Delta's PROTOCOL.md; Checksum.scala of Delta 4.4
(incrementallyDeriveChecksum, readChecksum: what cannot be read counts as missing).
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any, Final

from upath import UPath

from spark_jobs.table.delta.delta_log import COMMIT, Log, LogFiles
from spark_jobs.table.entry import Entry
from spark_jobs.values.times import at_milliseconds

SAID: Final = "commitInfo"
GENERATION: Final = "sluice.generation"
"""The property of a table that names the generation of its checkpoint."""
NO_ROWS: Final = frozenset(
    {"OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "ADD FEATURE"}
)
"""Delta's operations that change no row."""
ROWS: Final = {
    "STREAMING UPDATE": ("numOutputRows",),
    "WRITE": ("numOutputRows",),
    "MERGE": (
        "numTargetRowsInserted",
        "numTargetRowsUpdated",
        "num_target_rows_inserted",
        "num_target_rows_updated",
    ),
}
"""Operation -> the metrics, of Delta and of delta-rs, that count the rows a batch wrote."""


def entries(table: UPath) -> Iterator[dict[str, Any]]:
    """Each commit's `commitInfo` with its `version`, newest first, read one by one as they are
    asked for: the table of a month has thousands.

    delta-rs has the same (`history`), and keeps the interpreter's lock while it reads.
    """
    files = LogFiles(table)
    found = (COMMIT.fullmatch(name) for name in files.names())
    for version in sorted((int(match[1]) for match in found if match), reverse=True):
        text = files.content(f"{version:020d}.json")
        if text is None:  # the log was cleaned up meanwhile, from its oldest commit on
            return
        yield _info(text) | {"version": version}


def told(table: UPath) -> Iterator[Entry]:
    """The same, as port.py has them."""
    return (_entry(table, info) for info in entries(table))


def _info(text: bytes) -> dict[str, Any]:
    """Only the line that has it is parsed: a commit may add thousands of files."""
    for line in text.splitlines():
        if SAID.encode() in line and SAID in (action := json.loads(line)):
            said: dict[str, Any] = action[SAID]
            return said
    return {"operation": ""}


def _entry(table: UPath, info: dict[str, Any]) -> Entry:
    operation, given = info.get("operation", ""), info.get("operationParameters", {})
    restores = operation == "RESTORE"
    at = info.get("timestamp")
    return Entry(
        version=info["version"],
        does="restore" if restores else "nothing" if operation in NO_ROWS else "rows",
        said=said(info),
        at=None if at is None else at_milliseconds(at),
        rows=_rows(operation, info.get("operationMetrics", {})),
        to=_restored(table, info["version"], given.get("version")) if restores else None,
        marks=operation == "SET TBLPROPERTIES" and GENERATION in str(given.get("properties", "")),
    )


def said(info: dict[str, Any]) -> dict[str, Any]:
    """A commitInfo's userMetadata, if it is an object of JSON: it may have a person's words."""
    try:
        found = json.loads(info.get("userMetadata") or "{}")
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _rows(operation: str, metrics: dict[str, Any]) -> int | None:
    """delta-rs has no metrics of a commit without rows."""
    names = ROWS.get(operation)
    return None if names is None else sum(int(metrics.get(name, 0)) for name in names)


def _restored(table: UPath, version: int, named: object) -> int | None:
    """The version that a RESTORE names; of one to a time, the newest one with the same files."""
    if named is not None:
        return int(str(named))
    log = Log.of(table)
    try:
        has = log.replay(version).added.keys()
        return next(
            each for each in range(version - 1, -1, -1) if log.replay(each).added.keys() == has
        )
    except (LookupError, StopIteration):
        return None


FIRST = f"{0:020}"
EMPTY = {
    "tableSizeBytes": 0,
    "numFiles": 0,
    "numMetadata": 1,
    "numProtocol": 1,
    "setTransactions": [],
    "domainMetadata": [],
    "allFiles": [],
}


def write_first_checksum(path: UPath) -> None:
    """Write it beside the commit that made the table at `path`.

    A store that refuses it costs the first batch half a second, and nothing else.
    """
    log = path / "_delta_log"
    with contextlib.suppress(Exception):  # botocore's have no root in common with a disk's
        commit = (log / f"{FIRST}.json").read_text().splitlines()
        actions = {name: action for line in commit for name, action in json.loads(line).items()}
        checksum = EMPTY | {"metadata": actions["metaData"], "protocol": actions["protocol"]}
        (log / f"{FIRST}.crc").write_text(json.dumps(checksum) + "\n")
