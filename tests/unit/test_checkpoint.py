"""The checkpoint reader, on checkpoints written here as Spark writes them."""

from datetime import UTC, datetime

import pytest
from upath import UPath

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import CheckpointBroken
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.positions import Positions
from tests.harness.refused import fails, has
from tests.unit.checkpoints import begin, commit_batch, keep_state, plan_batch

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
    assert batch[1:3] == (Positions({0: 12}), Positions({0: 12, 1: 7}))
    assert batch.covered == 7


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


def test_of_a_committed_batch_the_logs_say_where_it_ends_what_comes_next_and_its_stores(folder):
    checkpoint = Checkpoint(folder)
    assert (checkpoint.done(), checkpoint.initial_topic(0)) == (Positions({0: 20}), "flights")
    assert (checkpoint.next_watermark_ms(1), checkpoint.clock_ms(2)) == (MIDNIGHT_MS, CLOCK_MS)
    (folder / "commits" / "1").write_text('v2\n{"stateUniqueIds":{"0":[["a"],["b"]],"1":[["c"]]}}')
    assert [checkpoint.stores(batch) for batch in (0, 1, 2)] == [{}, {0: 2, 1: 1}, {}]
    assert [checkpoint.committed_after(batch) for batch in (-1, 0, 1)] == [[0, 1], [1], []]
    (folder / "offsets" / "0").unlink()
    with fails(CheckpointBroken, "file_damaged", what=has(f"{folder / 'offsets'} does not have")):
        checkpoint.committed_after(0)


def test_a_batch_whose_entry_or_the_one_before_it_is_gone_or_damaged_is_not_planned(folder):
    plan_batch(folder, 3, {0: 30})
    first_unplanned = Checkpoint(folder).first_unplanned
    assert (first_unplanned([0, 1, 2, 3]), first_unplanned([1, 4, 5])) == (None, 4)
    assert [first_unplanned([0, 3], [damaged]) for damaged in range(4)] == [0, None, 3, 3]


def test_a_batch_can_be_read_while_each_store_that_it_had_has_its_state(tmp_path):
    folder = begin(tmp_path / "spark", {0: 0})
    for batch, stores in enumerate((1, 1, 3)):  # the last one is a repartition's
        plan_batch(folder, batch, {0: 10 * batch + 10}, partitions=stores)
        commit_batch(folder, batch)
        keep_state(folder, batch, 2, stores)
    checkpoint = Checkpoint(folder)
    assert [checkpoint.moves_state(batch) for batch in range(4)] == [False, False, True, False]
    assert checkpoint.readable() == [0, 1, 2]
    (folder / "state" / "1" / "0" / "1_id.zip").unlink()
    assert checkpoint.readable() == [1, 2]
    (folder / "state" / "1" / "2" / "3_id.zip").unlink()
    assert checkpoint.readable() == [1]
    (folder / "offsets" / "0").unlink()
    assert checkpoint.moves_state(2)
