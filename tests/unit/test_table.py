"""The table that belongs to a checkpoint: another one is refused before Spark starts."""

import json
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql.types import StructType
from upath import UPath

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import CheckpointBroken, TableChanged, TableReplaced
from spark_jobs.runs.preflight import refuse_ahead, refuse_replaced
from spark_jobs.table.delta.table import Delta
from tests.harness.refused import fails, has
from tests.unit.checkpoints import begin, plan_batch
from tests.unit.specs import pipeline


@pytest.fixture
def path(tmp_path) -> UPath:
    """A table with versions 0 to 3, a row each."""
    for number in range(4):
        write(tmp_path / "t", number)
    return UPath(tmp_path / "t")


def write(path: Path | UPath, number: int) -> None:
    """A row."""
    deltalake.write_deltalake(str(path), pa.table({"n": [number]}), mode="append")


def test_the_table_of_the_checkpoint_passes_whatever_its_owner_added_or_deleted(path):
    known = Delta(path).identifier()
    write(path, 9)
    deltalake.DeltaTable(str(path)).delete("n = 1")
    refuse_replaced(Delta(path), "sales", known)


def test_before_the_first_run_any_table_passes_and_none(tmp_path):
    refuse_replaced(Delta(UPath(tmp_path / "none")), "sales", "")


def test_a_dropped_table_is_refused(tmp_path):
    with fails(TableReplaced, "dropped"):
        refuse_replaced(Delta(UPath(tmp_path / "none")), "sales", "known")


def test_a_table_made_anew_is_refused(path, tmp_path):
    known = Delta(path).identifier()
    path.rename(tmp_path / "old")
    write(tmp_path / "t", 1)
    for other in (known, "0", "z"):
        with fails(TableReplaced, "created_anew"):
            refuse_replaced(Delta(UPath(tmp_path / "t")), "sales", other)


def test_a_batch_that_the_offsets_do_not_know_is_refused(tmp_path):
    path = UPath(tmp_path / "t")
    checkpoint = Checkpoint(begin(tmp_path / "spark"))
    refuse_ahead(Delta(path), "sales/g1", checkpoint)
    for batch in range(2):
        done = deltalake.CommitProperties(
            app_transactions=[deltalake.Transaction("sales/g1", batch)]
        )
        row = pa.table({"n": [batch]})
        deltalake.write_deltalake(str(path), row, mode="append", commit_properties=done)
        plan_batch(checkpoint.folder, batch, {0: batch})
    refuse_ahead(Delta(path), "sales/g1", checkpoint)
    refuse_ahead(Delta(path), "sales/g2", Checkpoint(UPath(tmp_path / "another")))
    (checkpoint.folder / "offsets" / "1").unlink()
    with fails(CheckpointBroken, "file_damaged", what=has("has batch 1")):
        refuse_ahead(Delta(path), "sales/g1", checkpoint)
    (checkpoint.folder / "offsets" / "0").unlink()
    with fails(CheckpointBroken, "file_damaged", what=has("ends at -1")):
        refuse_ahead(Delta(path), "sales/g1", checkpoint)


def test_a_newer_field_gets_its_column_also_after_a_rewind_and_a_lost_column_does_not(tmp_path):
    path, spec = UPath(tmp_path / "new"), pipeline()
    old = StructType().add("id", "string")
    Delta(path).ensure(old, spec, "g1")
    new = StructType().add("id", "string").add("later", StructType().add("n", "long"))
    with pytest.raises(TableChanged):
        Delta(path).ensure(new, spec, "g1")
    Delta(path).refuse_changed(new, {"later"})  # as --deep asks
    other = StructType().add("id", "long")
    with pytest.raises(TableChanged):
        Delta(path).refuse_changed(other, {"id"})
    assert Delta(path).ensure(new, spec, "g1", {"later", "other"}) == 1
    assert Delta(path).ensure(new, spec, "g1") == 1
    made = json.loads(deltalake.DeltaTable(str(path)).schema().to_json())["fields"]
    assert [(each["name"], each["metadata"]) for each in made] == [
        ("id", {}),
        ("later", {"sluice.added": "1"}),
    ]
    deltalake.DeltaTable(str(path)).restore(0)
    assert Delta(path).ensure(new, spec, "g1") == 3
    fields = deltalake.DeltaTable(str(path)).schema().fields
    assert [field.name for field in fields] == ["id", "later"]


def test_a_column_that_is_gone_is_refused_with_the_command_that_shows_the_history(path):
    opened = deltalake.DeltaTable(str(path))
    lacking = json.loads(opened.schema().to_json())
    lacking["fields"][0]["name"] = "gone"
    with fails(TableChanged, "column_unfit", name="gone", sql=has("delta.")):
        Delta(path).refuse_changed(StructType.fromJson(lacking))
