"""The cursor: how far account and checks have come survives a crash, whole."""

from datetime import UTC, datetime
from pathlib import Path

from upath import UPath

from spark_jobs.checkpoint.cursor import Cursor, read_cursor
from spark_jobs.contract.report import StateUse


def test_a_pipeline_that_never_ran_has_judged_nothing(tmp_path: Path) -> None:
    cursor = read_cursor(UPath(tmp_path / "cursor.json"))
    assert (cursor.audited, cursor.judged, cursor.judged_table_version) == (-1, -1, None)


def test_a_cursor_is_read_as_it_was_written_over_an_older_one(tmp_path: Path) -> None:
    path = UPath(tmp_path / "cursor.json")
    Cursor(audited=1).write(path)
    newer = Cursor(
        audited=7,
        judged=6,
        judged_table_version=9,
        state=StateUse(rows=5, bytes=6, rows_before=1),
        last_event_time=datetime(2013, 1, 1, microsecond=1, tzinfo=UTC),
    )
    newer.write(path)
    assert read_cursor(path) == newer
    assert [found.name for found in tmp_path.iterdir()] == ["cursor.json"]
