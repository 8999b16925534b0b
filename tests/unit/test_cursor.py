"""The cursor: how far account and checks have come survives a crash, whole."""

from datetime import UTC, datetime

from upath import UPath

from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.errors import CheckpointBroken, FormatNewer
from spark_jobs.messages.report import StateUse
from tests.harness.refused import fails, has
from tests.unit.checkpoints import begin, commit_batch, plan_batch


def test_a_pipeline_that_never_ran_has_judged_nothing(tmp_path):
    cursor = read_cursor(UPath(tmp_path / "cursor.json"))
    assert (cursor.audited, cursor.judged, cursor.judged_table_version) == (-1, -1, None)


def test_a_cursor_is_read_as_it_was_written_over_an_older_one(tmp_path):
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


def test_one_that_is_missing_beside_batches_is_an_error_and_not_a_new_beginning(tmp_path):
    folder = begin(tmp_path / "p" / "v1" / "spark")
    path = UPath(tmp_path / "p" / "v1" / "cursor.json")
    assert read_cursor(path) == Cursor(), "no batch was committed"
    Cursor().write(path)
    plan_batch(folder, 0, {0: 12})
    commit_batch(folder, 0)
    path.unlink()
    with fails(CheckpointBroken, "file_damaged", what=has("cursor.json"), pipeline="p"):
        read_cursor(path)


def test_a_file_of_a_newer_form_is_refused_and_of_an_older_one_read(tmp_path):
    path = UPath(tmp_path / "cursor.json")
    path.write_text('{"format_version": 2, "audited": 3}')
    with fails(FormatNewer, "form_unknown", path=has("cursor.json"), found=2, known=1):
        read_cursor(path)
    path.write_text('{"audited": 3}')
    assert read_cursor(path).audited == 3, "from before there was a number"
