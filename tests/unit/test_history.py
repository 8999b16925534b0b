"""The batches' commits in a table's log."""

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.table import history
from spark_jobs.table.delta.delta_log import LogFiles
from spark_jobs.table.delta.log_entries import GENERATION, entries
from spark_jobs.table.delta.table import Delta


def write(path: Path, note: dict[str, object] | None):
    write_as(path, json.dumps(note) if note else None)


def write_as(path: Path, words: str | None):
    """A commit with these words as its userMetadata."""
    said = deltalake.CommitProperties(custom_metadata={"userMetadata": words}) if words else None
    deltalake.write_deltalake(
        str(path), pa.table({"n": [1]}), mode="append", commit_properties=said
    )


def test_all_are_told_newest_first_however_many_and_those_of_others_are_left_out(tmp_path):
    write(tmp_path, None)
    for batch in range(30):
        write(tmp_path, {"sluice": "sales/g1", "batch": batch})
    write(tmp_path, {"sluice": "sales/g0", "batch": 99})
    path = UPath(tmp_path)
    assert [batch for batch, _ in history.commits(Delta(path), ["sales/g1"])] == list(
        reversed(range(30))
    )
    assert [batch for batch, _ in history.commits(Delta(path), ["sales/g0"])] == [99]
    assert history.version_after(Delta(path), ["sales/g1"], 4) == 5


def test_only_as_much_is_read_as_is_asked_for(tmp_path, monkeypatch):
    for batch in range(3):
        write(tmp_path, {"sluice": "sales/g1", "batch": batch})
    asked = list[str]()
    really = LogFiles.content

    def counted(files: LogFiles, name: str) -> bytes | None:
        asked.append(name)
        return really(files, name)

    monkeypatch.setattr(LogFiles, "content", counted)
    assert next(history.commits(Delta(UPath(tmp_path)), ["sales/g1"]))[0] == 2
    assert asked == ["00000000000000000002.json"]


def test_an_entry_is_what_delta_rs_reads_of_the_commit(tmp_path):
    for batch in range(3):
        write(tmp_path, {"sluice": "sales/g1", "batch": batch})
    table = deltalake.DeltaTable(str(tmp_path))
    table.restore(1)
    table.alter.set_table_properties({"delta.appendOnly": "false"})
    assert list(entries(UPath(tmp_path))) == deltalake.DeltaTable(str(tmp_path)).history()


def test_a_commit_that_is_cleaned_up_while_the_log_is_read_is_its_end(tmp_path, monkeypatch):
    for batch in range(3):
        write(tmp_path, {"sluice": "sales/g1", "batch": batch})
    listed = list(LogFiles(tmp_path).names())
    (tmp_path / "_delta_log" / "00000000000000000000.json").unlink()
    monkeypatch.setattr(LogFiles, "names", lambda _: iter(listed))
    assert [each["version"] for each in entries(UPath(tmp_path))] == [2, 1]


def rewind(path: Path, version: int):
    said = deltalake.CommitProperties(custom_metadata={"userMetadata": '{"sluice_change": "c1"}'})
    deltalake.DeltaTable(str(path)).restore(version, commit_properties=said)


def batches(path: Path, owner: str, first: int, last: int):
    for batch in range(first, last + 1):
        write(path, {"sluice": f"sales/{owner}", "batch": batch})


def test_files_that_were_joined_after_a_batch_are_the_version_with_its_rows(tmp_path):
    """Versions 0 to 3 are batches, 4 joins their files, 5 is the next batch."""
    batches(tmp_path, "g1", 0, 3)
    deltalake.DeltaTable(str(tmp_path)).optimize.compact()
    assert history.version_after(Delta(UPath(tmp_path)), ["sales/g1"], 3) == 4
    batches(tmp_path, "g1", 4, 4)
    assert history.version_after(Delta(UPath(tmp_path)), ["sales/g1"], 3) == 4
    assert history.version_after(Delta(UPath(tmp_path)), ["sales/g1"], 2) == 2


def test_what_forgot_deletes_after_a_batch_is_a_version_with_its_rows(tmp_path):
    batches(tmp_path, "g1", 0, 1)
    said = deltalake.CommitProperties(custom_metadata={"userMetadata": '{"sluice_forgot": "n"}'})
    deltalake.DeltaTable(str(tmp_path)).delete("n = 1", commit_properties=said)
    assert history.version_after(Delta(UPath(tmp_path)), ["sales/g1"], 1) == 2
    deltalake.DeltaTable(str(tmp_path)).delete("true")
    assert history.version_after(Delta(UPath(tmp_path)), ["sales/g1"], 1) == 2


def test_what_somebody_changed_after_a_batch_is_not_taken_for_its_rows(tmp_path):
    batches(tmp_path, "g1", 0, 1)
    deltalake.DeltaTable(str(tmp_path)).delete("n = 1")
    deltalake.DeltaTable(str(tmp_path)).optimize.compact()
    batches(tmp_path, "g1", 2, 2)
    assert history.version_after(Delta(UPath(tmp_path)), ["sales/g1"], 1) == 1


def test_batches_that_a_rewind_kept_are_found_by_their_generation_and_no_abandoned_ones(tmp_path):
    """g1 writes 0 to 4, goes back to 2 as g2, which writes 4 and not 3."""
    batches(tmp_path, "g1", 0, 4)
    rewind(tmp_path, 2)
    batches(tmp_path, "g2", 4, 4)
    owners = ["sales/g1", "sales/g2"]
    assert [history.version_after(Delta(UPath(tmp_path)), owners, batch) for batch in range(5)] == [
        0, 1, 5, 5, 6,
    ]  # fmt: skip


def test_housekeeping_is_nobody_who_wrote(tmp_path):
    batches(tmp_path, "g1", 0, 2)
    deltalake.DeltaTable(str(tmp_path)).optimize.compact()
    assert not history.somebody_else_wrote(Delta(UPath(tmp_path)), 0, 3)
    write(tmp_path, None)
    assert history.somebody_else_wrote(Delta(UPath(tmp_path)), 0, 4)


@pytest.mark.parametrize(
    "words",
    [
        "mended by ana", "5", "null", '["x"]', "{", '{"sluice": 7}',
        '{"sluice": ["sales/g1"], "batch": 1}', '{"sluice": "sales/g1"}',
        '{"sluice": "sales/g1", "batch": "1"}', '{"ticket": "OPS-7", "batch": 1}',
    ],
)  # fmt: skip
def test_the_words_of_a_person_in_a_commit_are_no_batchs_note(tmp_path, words):
    """Version 0 is a batch, 1 the person's, 2 the next batch."""
    path = UPath(tmp_path)
    batches(tmp_path, "g1", 0, 0)
    write_as(tmp_path, words)
    batches(tmp_path, "g1", 1, 1)
    assert [batch for batch, _ in history.commits(Delta(path), ["sales/g1"])] == [1, 0]
    assert history.version_after(Delta(path), ["sales/g1"], 0) == 0
    assert history.somebody_else_wrote(Delta(path), 0, 2)


def test_of_batches_that_were_written_twice_those_that_count_are_told(tmp_path):
    """g1 writes 0 to 4 and goes back to 2 as g2, which writes 3 in version 6."""
    batches(tmp_path, "g1", 0, 4)
    rewind(tmp_path, 2)
    batches(tmp_path, "g2", 3, 3)
    told = history.commits(Delta(UPath(tmp_path)), ["sales/g1", "sales/g2"])
    assert [(batch, entry.version) for batch, entry in told] == [(3, 6), (2, 2), (1, 1), (0, 0)]


def test_a_rewind_of_a_sluice_without_a_journal_is_one(tmp_path):
    """Its RESTORE says nothing, and its next commit gives the table to the next generation."""
    batches(tmp_path, "g1", 0, 4)
    table = deltalake.DeltaTable(str(tmp_path))
    table.restore(2)
    path = UPath(tmp_path)
    assert [batch for batch, _ in history.commits(Delta(path), ["sales/g1"])] == [4, 3, 2, 1, 0]
    table.alter.set_table_properties({GENERATION: "g2"}, raise_if_not_exists=False)
    assert [batch for batch, _ in history.commits(Delta(path), ["sales/g1"])] == [2, 1, 0]
    assert history.version_after(Delta(path), ["sales/g1"], 2) == 6
    assert not history.stands(Delta(path), 4)
    assert history.stands(Delta(path), 2)


def test_what_was_joined_behind_a_persons_restore_is_no_batchs_version(tmp_path):
    batches(tmp_path, "g1", 0, 4)
    deltalake.DeltaTable(str(tmp_path)).restore(2)
    deltalake.DeltaTable(str(tmp_path)).optimize.compact()
    assert history.version_after(Delta(UPath(tmp_path)), ["sales/g1"], 4) == 4
