"""The batches' commits in a table's log."""

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.sink import history


def write(path: Path, note: dict[str, object] | None) -> None:
    said = (
        deltalake.CommitProperties(custom_metadata={"userMetadata": json.dumps(note)})
        if note
        else None
    )
    deltalake.write_deltalake(
        str(path), pa.table({"n": [1]}), mode="append", commit_properties=said
    )


def test_all_are_told_newest_first_however_many_and_those_of_others_are_left_out(
    tmp_path: Path,
) -> None:
    write(tmp_path, None)
    for batch in range(2 * history.FIRST + 3):
        write(tmp_path, {"sluice": "sales/g1", "batch": batch})
    write(tmp_path, {"sluice": "sales/g0", "batch": 99})
    path = UPath(tmp_path)
    assert [batch for batch, _ in history.commits(path, "sales/g1")] == list(
        reversed(range(2 * history.FIRST + 3))
    )
    assert [batch for batch, _ in history.commits(path, "sales/g0")] == [99]
    assert history.version_after(path, "sales/g1", 4) == 5


def test_only_as_much_is_read_as_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(2 * history.FIRST):
        write(tmp_path, {"sluice": "sales/g1", "batch": batch})
    asked = []
    really = deltalake.DeltaTable.history

    def counted(table: deltalake.DeltaTable, limit: int | None = None) -> list[dict[str, object]]:
        asked.append(limit)
        return really(table, limit)

    monkeypatch.setattr(deltalake.DeltaTable, "history", counted)
    assert next(history.commits(UPath(tmp_path), "sales/g1"))[0] == 2 * history.FIRST - 1
    assert asked == [history.FIRST]
