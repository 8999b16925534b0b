"""The table that belongs to a checkpoint: another one, or one that was taken back, is refused
before Spark starts.
"""

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql.types import StructType
from upath import UPath

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.errors import CheckpointBroken, TableChanged, TableReplaced
from spark_jobs.sink import table
from tests.unit.checkpoints import begin, plan_batch

OWNER = "sales/g1"


@pytest.fixture
def path(tmp_path: Path) -> UPath:
    """A table with versions 0 to 3, a row each."""
    for number in range(4):
        write(tmp_path / "t", number)
    return UPath(tmp_path / "t")


def write(path: Path | UPath, number: int, owner: str | None = None) -> None:
    """A row; as the batch of that number if there is an owner."""
    said = {"userMetadata": json.dumps({"sluice": owner, "batch": number})} if owner else None
    deltalake.write_deltalake(
        str(path),
        pa.table({"n": [number]}),
        mode="append",
        commit_properties=deltalake.CommitProperties(custom_metadata=said),
    )


def restore(path: UPath, version: int) -> None:
    deltalake.DeltaTable(str(path)).restore(version)


def test_the_table_of_the_checkpoint_passes_whatever_its_owner_added_or_deleted(
    path: UPath,
) -> None:
    known = table.identifier(path)
    write(path, 9)
    deltalake.DeltaTable(str(path)).delete("n = 1")
    table.refuse_replaced(path, OWNER, known, 3)
    table.refuse_replaced(path, OWNER, known, None)


def test_before_the_first_run_any_table_passes_and_none(tmp_path: Path) -> None:
    table.refuse_replaced(UPath(tmp_path / "none"), OWNER, "", None)


def test_a_dropped_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableReplaced, match=r"there is no table at .*: it was dropped"):
        table.refuse_replaced(UPath(tmp_path / "none"), OWNER, "known", 3)


def test_a_table_made_anew_is_refused(path: UPath, tmp_path: Path) -> None:
    known = table.identifier(path)
    path.rename(tmp_path / "old")
    write(tmp_path / "t", 1)
    with pytest.raises(TableReplaced, match="this one created later"):
        table.refuse_replaced(UPath(tmp_path / "t"), OWNER, known, 3)


def test_a_restore_behind_the_last_batch_is_refused_with_the_command_that_mends_it(
    path: UPath,
) -> None:
    restore(path, 1)
    with pytest.raises(TableReplaced) as refused:
        table.refuse_replaced(path, OWNER, table.identifier(path), 3)
    assert "restored to version 1" in str(refused.value)
    assert "TO VERSION AS OF 3" in str(refused.value)
    write(path, 9)
    with pytest.raises(TableReplaced):
        table.refuse_replaced(path, OWNER, table.identifier(path), 3)


def test_that_command_brings_back_what_came_behind_the_last_batch(path: UPath) -> None:
    """A repair is version 4. A second RESTORE by mistake does not hide it."""
    write(path, 7)
    restore(path, 1)
    restore(path, 0)
    with pytest.raises(TableReplaced) as refused:
        table.refuse_replaced(path, OWNER, table.identifier(path), 3)
    assert "TO VERSION AS OF 4" in refused.value.remedy
    restore(path, 4)
    table.refuse_replaced(path, OWNER, table.identifier(path), 3)


def test_that_command_mends_it(path: UPath) -> None:
    restore(path, 1)
    restore(path, 3)
    table.refuse_replaced(path, OWNER, table.identifier(path), 3)


@pytest.mark.parametrize("known", [3, None])
def test_a_restore_behind_a_batch_that_has_no_account_yet_is_refused(
    path: UPath, known: int | None
) -> None:
    """Version 4 is a batch that a killed run committed; the cursor is at version 3, or has none."""
    write(path, 7, OWNER)
    table.refuse_replaced(path, OWNER, table.identifier(path), known)
    restore(path, 3)
    with pytest.raises(TableReplaced) as refused:
        table.refuse_replaced(path, OWNER, table.identifier(path), known)
    assert "restored to version 3" in str(refused.value)
    assert "TO VERSION AS OF 4" in str(refused.value)
    restore(path, 4)
    table.refuse_replaced(path, OWNER, table.identifier(path), known)


def test_what_an_abandoned_generation_wrote_may_be_taken_back(path: UPath) -> None:
    write(path, 7, "sales/g0")
    restore(path, 3)
    table.refuse_replaced(path, OWNER, table.identifier(path), 3)


def test_a_restore_of_a_restore_takes_back_what_that_one_did(path: UPath) -> None:
    restore(path, 1)
    write(path, 9)
    restore(path, 4)
    with pytest.raises(TableReplaced, match="restored to version 1"):
        table.refuse_replaced(path, OWNER, table.identifier(path), 3)


def test_a_restore_that_took_back_no_batch_passes(path: UPath) -> None:
    write(path, 9)
    restore(path, 3)
    table.refuse_replaced(path, OWNER, table.identifier(path), 3)


def test_a_batch_that_the_offsets_do_not_know_is_refused(tmp_path: Path) -> None:
    path = UPath(tmp_path / "t")
    checkpoint = Checkpoint(begin(tmp_path / "spark"))
    table.refuse_ahead(path, "sales/g1", checkpoint)
    for batch in range(2):
        done = deltalake.CommitProperties(
            app_transactions=[deltalake.Transaction("sales/g1", batch)]
        )
        deltalake.write_deltalake(
            str(path), pa.table({"n": [batch]}), mode="append", commit_properties=done
        )
        plan_batch(checkpoint.folder, batch, {0: batch})
    table.refuse_ahead(path, "sales/g1", checkpoint)
    table.refuse_ahead(path, "sales/g2", Checkpoint(UPath(tmp_path / "another")))
    (checkpoint.folder / "offsets" / "1").unlink()
    with pytest.raises(CheckpointBroken, match=r"has batch 1, and .*offsets ends at 0"):
        table.refuse_ahead(path, "sales/g1", checkpoint)


def test_a_column_that_is_gone_is_refused_with_the_command_that_shows_the_history(
    path: UPath,
) -> None:
    opened = deltalake.DeltaTable(str(path))
    lacking = json.loads(opened.schema().to_json())
    lacking["fields"][0]["name"] = "gone"
    with pytest.raises(TableChanged) as raised:
        table.refuse_changed(opened, StructType.fromJson(lacking))
    assert "cannot take column gone" in raised.value.what
    assert "DESCRIBE HISTORY delta." in raised.value.remedy
    assert "`sluice reset`" in raised.value.remedy
