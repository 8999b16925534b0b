"""The checkpoint reader, on checkpoints written here as Spark writes them."""

from datetime import UTC, datetime

import pytest
from upath import UPath

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from tests.unit.checkpoints import begin, commit_batch, plan_batch

MIDNIGHT_MS, CLOCK_MS = 1359676800000, 1795253827094


@pytest.fixture
def folder(tmp_path) -> UPath:
    """Two batches of one partition; the third is planned and not committed."""
    folder = begin(tmp_path / "spark", {0: 0})
    plan_batch(folder, 0, {0: 12})
    commit_batch(folder, 0, MIDNIGHT_MS)
    plan_batch(folder, 1, {0: 20}, MIDNIGHT_MS)
    commit_batch(folder, 1, MIDNIGHT_MS)
    plan_batch(folder, 2, {0: 25}, MIDNIGHT_MS + 1000)
    return folder


def test_a_checkpoint_that_is_not_there_yet_has_nothing(tmp_path):
    checkpoint = Checkpoint(UPath(tmp_path / "spark"))
    assert (checkpoint.planned(), checkpoint.committed()) == ([], [])
    assert not (tmp_path / "spark").exists()


def test_a_batch_that_is_planned_is_not_committed(folder):
    assert (Checkpoint(folder).planned(), Checkpoint(folder).committed()) == ([0, 1, 2], [0, 1])


def test_batches_are_in_the_order_of_their_numbers(tmp_path):
    folder = begin(tmp_path / "spark")
    for batch in (10, 9, 100):
        plan_batch(folder, batch, {0: batch})
    assert Checkpoint(folder).planned() == [9, 10, 100]


def test_a_batch_covers_what_lies_between_its_predecessors_offsets_and_its_own(folder):
    assert Checkpoint(folder).batch(0) == Batch(
        0, Positions({0: 0}), Positions({0: 12}), 0, 0, CLOCK_MS
    )
    assert Checkpoint(folder).batch(1) == Batch(
        1, Positions({0: 12}), Positions({0: 20}), MIDNIGHT_MS, 0, CLOCK_MS
    )
    assert Checkpoint(folder).batch(2).covered == 5


def test_rows_are_late_by_the_watermark_of_the_batch_before(folder):
    batch = Checkpoint(folder).batch(2)
    assert (batch.watermark_ms, batch.late_before_ms) == (MIDNIGHT_MS + 1000, MIDNIGHT_MS)


def test_there_is_no_watermark_before_the_first_rows_were_seen(folder):
    assert Checkpoint(folder).batch(0).watermark is None
    assert Checkpoint(folder).batch(1).watermark == datetime(2013, 2, 1, tzinfo=UTC)


def test_a_partition_that_appears_starts_at_0(tmp_path):
    folder = begin(tmp_path / "spark", {0: 0})
    plan_batch(folder, 0, {0: 12})
    plan_batch(folder, 1, {0: 12, 1: 7})
    batch = Checkpoint(folder).batch(1)
    assert (batch.start, batch.end, batch.covered) == (
        Positions({0: 12}),
        Positions({0: 12, 1: 7}),
        7,
    )


def test_the_first_batch_starts_where_retention_had_left_the_topic(tmp_path):
    """Else records gone before the first drain would be gaps, and read again in vain."""
    folder = begin(tmp_path / "spark", {0: 100, 1: 0})
    plan_batch(folder, 0, {0: 112, 1: 3})
    assert Checkpoint(folder).batch(0).covered == 15


def test_a_source_that_gave_no_offsets_yet_covers_nothing(tmp_path):
    folder = begin(tmp_path / "spark")
    (folder / "offsets" / "0").write_text('v1\n{"batchWatermarkMs":0}\n-')
    assert Checkpoint(folder).batch(0) == Batch(0, Positions(), Positions(), 0, 0)


@pytest.mark.parametrize("asked", [1, 2, 7])
def test_a_batch_that_spark_purged_or_never_made_is_not_found(folder, asked):
    """Batch 1 lacks itself, batch 2 its predecessor, without which its start is unknown."""
    (folder / "offsets" / "1").unlink()
    with pytest.raises(FileNotFoundError):
        Checkpoint(folder).batch(asked)
