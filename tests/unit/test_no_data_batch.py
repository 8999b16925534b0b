"""When a batch without data is due, and what Sluice writes into Spark's offset log for it."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from upath import UPath

from spark_jobs.checkpoint import no_data_batch
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.no_data_batch import Clock, NoDataBatch
from spark_jobs.errors import LeaseLost
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import group_state, pipeline

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AN_HOUR_AGO = NOW - timedelta(hours=1)
SILENT = pipeline(close_after="30 minutes")
BY_THE_CLOCK = pipeline(steps=(group_state(time_mode="processing"),))


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


@pytest.fixture
def folder(tmp_path) -> UPath:
    """One batch, planned and committed; the watermark is that of noon in January."""
    folder = begin(tmp_path / "spark")
    plan_batch(folder, 0, {0: 12}, _ms(datetime(2026, 1, 1, 12, tzinfo=UTC)))
    commit_batch(folder, 0, _ms(datetime(2026, 1, 1, 12, tzinfo=UTC)))
    return folder


def due(folder, spec, newest=None, rows=5, **done) -> NoDataBatch | None:
    return no_data_batch.due(spec, Checkpoint(folder), Clock(NOW, newest, rows, **done))


def test_after_a_whole_run_nothing_is_due(folder):
    assert due(folder, pipeline()) is None


def test_a_watermark_that_no_batch_has_used_is_due(folder):
    commit_batch(folder, 0, _ms(AN_HOUR_AGO))
    found = due(folder, pipeline())
    assert found.watermark_ms == _ms(AN_HOUR_AGO)
    assert "no batch has used it" in found.reason


def test_a_planned_batch_comes_first(folder):
    commit_batch(folder, 0, _ms(AN_HOUR_AGO))
    plan_batch(folder, 1, {0: 20})
    assert due(folder, pipeline()) is None


def test_a_silent_topic_closes_what_is_older_than_close_after_and_the_watermark_delay(folder):
    found = due(folder, SILENT, AN_HOUR_AGO)
    assert found.watermark_ms == _ms(NOW - timedelta(minutes=30) - timedelta(hours=2))
    assert "silent" in found.reason


IN_A_YEAR = NOW + timedelta(days=365)
"""As one producer with a wrong clock has it in Kafka."""


@pytest.mark.parametrize("no_data", [0, 3], ids=["the last has data", "batches without data since"])
def test_a_record_from_the_future_hides_no_silence_counted_from_the_last_batch(folder, no_data):
    plan_batch(folder, 1, {0: 20}, clock_ms=_ms(AN_HOUR_AGO))
    commit_batch(folder, 1)
    for batch in range(2, 2 + no_data):
        plan_batch(folder, batch, {0: 20}, clock_ms=_ms(NOW))
        commit_batch(folder, batch)
    found = due(folder, SILENT, IN_A_YEAR)
    assert found.by_silence
    assert found.watermark_ms == _ms(NOW - timedelta(minutes=30) - timedelta(hours=2))
    assert (
        "silent for close_after=0:30:00, since the last batch with records, of 2026-03-01 11:00"
        in (found.reason)
    )


def test_after_a_record_from_the_future_a_topic_that_spoke_lately_is_not_silent(folder):
    plan_batch(folder, 1, {0: 20}, clock_ms=_ms(NOW - timedelta(minutes=29)))
    commit_batch(folder, 1)
    assert due(folder, SILENT, IN_A_YEAR) is None


def test_after_a_record_from_the_future_a_topic_with_unread_records_is_not_silent(folder):
    """A long batch, or one that a killed run left: what came meanwhile would be late."""
    plan_batch(folder, 1, {0: 20}, clock_ms=_ms(NOW - timedelta(hours=3)))
    commit_batch(folder, 1)
    assert due(folder, SILENT, IN_A_YEAR) is not None
    assert due(folder, SILENT, IN_A_YEAR, unread=True) is None


def test_where_only_batches_without_records_are_left_silence_counts_from_the_oldest(folder):
    """Spark keeps a hundred; the entry before the oldest is gone."""
    for batch in (0, 1):
        plan_batch(folder, batch, {0: 12}, clock_ms=_ms(AN_HOUR_AGO))
    plan_batch(folder, 2, {0: 12}, clock_ms=_ms(NOW))
    commit_batch(folder, 1)
    commit_batch(folder, 2)
    (folder / "commits" / "0").unlink()
    (folder / "offsets" / "0").unlink()
    found = due(folder, SILENT, IN_A_YEAR)
    assert "2026-03-01 11:00" in found.reason


@pytest.mark.parametrize(
    ("newest", "said"),
    [(IN_A_YEAR, True), (NOW + timedelta(minutes=9), False), (AN_HOUR_AGO, False), (None, False)],
)
def test_a_newest_record_that_is_still_to_come_is_said(newest, said):
    line = no_data_batch.clock_ahead(SILENT, Clock(NOW, newest, 5))
    assert bool(line) is said
    assert not said or "2027-03-01 12:00:00" in line
    assert no_data_batch.clock_ahead(pipeline(), Clock(NOW, newest, 5)) == ""


@pytest.mark.parametrize(
    "newest",
    [NOW - timedelta(minutes=29), None],
    ids=["a record half an hour ago", "no record ever"],
)
def test_a_topic_that_is_not_silent_closes_nothing(folder, newest):
    assert due(folder, SILENT, newest) is None


def test_silence_never_takes_the_watermark_back(folder):
    commit_batch(folder, 0, _ms(NOW))
    found = due(folder, SILENT, AN_HOUR_AGO)
    assert found.watermark_ms == _ms(NOW)


def test_what_goes_by_the_clock_is_due_once_a_run(folder):
    found = due(folder, BY_THE_CLOCK)
    assert "processing-time" in found.reason
    assert due(folder, BY_THE_CLOCK, no_data_batch_ran=True) is None


def test_silence_closes_once_a_run_although_the_clock_goes_on(folder):
    assert due(folder, SILENT, AN_HOUR_AGO, closed=True) is None


@pytest.mark.parametrize("spec", [SILENT, BY_THE_CLOCK], ids=["silence", "the clock"])
def test_where_no_state_is_nothing_is_due_by_the_clock(folder, spec):
    assert due(folder, spec, AN_HOUR_AGO, rows=0) is None


def test_a_pipeline_that_never_ran_has_nothing_due(tmp_path):
    assert due(begin(tmp_path / "new"), BY_THE_CLOCK) is None


def test_the_planned_batch_has_the_last_ones_offsets_and_settings_and_a_watermark_and_time_of_its_own(
    folder,
):
    batch = no_data_batch.write(
        Checkpoint(folder), NoDataBatch(_ms(AN_HOUR_AGO), "for a test"), NOW
    )
    planned = Checkpoint(folder).batch(batch)
    assert (planned.covered, planned.watermark_ms, planned.clock_ms) == (
        0,
        _ms(AN_HOUR_AGO),
        _ms(NOW),
    )
    first, second = (
        json.loads((folder / "offsets" / str(n)).read_text().splitlines()[1])["conf"]
        for n in (0, 1)
    )
    assert first == second


def test_a_batch_can_be_planned_where_the_source_is_files_and_no_topic(folder):
    """As a replay's is (repair/compute/replay.py): the source's line is copied, and not read."""
    metadata = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": 0, "conf": {}})
    (folder / "offsets" / "0").write_text(f'v1\n{metadata}\n{{"logOffset":0}}')
    checkpoint = Checkpoint(folder)
    assert no_data_batch.write(checkpoint, NoDataBatch(_ms(NOW), "for a test"), NOW) == 1
    version, planned, source = (folder / "offsets" / "1").read_text().splitlines()
    assert (version, source) == ("v1", '{"logOffset":0}')
    assert json.loads(planned)["batchWatermarkMs"] == _ms(NOW)


def test_a_planned_batch_can_be_removed_with_its_checksum(folder):
    plan_batch(folder, 1, {0: 12})
    no_data_batch.remove(Checkpoint(folder))
    assert Checkpoint(folder).planned() == [0]
    assert not (folder / "offsets" / ".1.crc").exists()


def test_who_has_lost_the_lease_takes_no_planned_batch_from_the_next_run(folder):
    plan_batch(folder, 1, {0: 12})

    def confirm():
        raise LeaseLost("another has it")

    with pytest.raises(LeaseLost):
        no_data_batch.remove(Checkpoint(folder), confirm)
    assert Checkpoint(folder).planned() == [0, 1]


def test_on_an_object_store_a_planned_batch_stays(folder):
    """There who removes it may sleep, while the next run has planned another in its place."""
    plan_batch(folder, 1, {0: 12})
    store = UPath("memory://checkpoint")
    for log in ("offsets", "commits"):
        for entry in (folder / log).iterdir():
            (store / log).mkdir(parents=True, exist_ok=True)
            (store / log / entry.name).write_text(entry.read_text())
    no_data_batch.remove(Checkpoint(store))
    assert (store / "offsets" / "1").exists()


def test_a_batch_with_data_and_a_committed_one_are_never_removed(folder):
    no_data_batch.remove(Checkpoint(folder))
    plan_batch(folder, 1, {0: 13})
    no_data_batch.remove(Checkpoint(folder))
    assert Checkpoint(folder).planned() == [0, 1]
