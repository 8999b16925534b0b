"""What the benchmark says about a past that grows: more keys of state, more runs, more batches."""

from datetime import timedelta

import pytest

from bench import hourly, workload
from bench.arms import Drained
from bench.growth import HOURS, hold_keys
from bench.history import History
from bench.own_pipelines import own_pipelines
from bench.process import Cost
from bench.rounds import Target, growth
from spark_jobs.messages.report import StateUse
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry

EACH = 200
HOUR = timedelta(hours=1)


def drained(query: float, process: float, cpu: float, gigabytes: float) -> Drained:
    return Drained(query, Cost(process, cpu, round(gigabytes * 2**30)))


def test_growth_is_the_later_arm_over_the_earlier_one_by_each_of_its_times() -> None:
    rounds = [
        {"second": drained(2, 4, 8, 1), "sixtieth": drained(3, 4, 10, 3.5)},
        {"second": drained(1, 2, 4, 1), "sixtieth": drained(1, 4, 5, 1)},
    ]
    arms = rounds, "sixtieth", "second"
    rows = growth("a run", *arms, Target(query=1.2, process=1.5))
    assert [
        (row.work, row.rival, row.kind, row.ratios, row.target, row.reached) for row in rows
    ] == [
        ("a run: query seconds", "second", "at most", [1.5, 1], 1.2, False),
        ("a run: process seconds", "second", "at most", [1, 2], 1.5, True),
        ("a run: processor seconds", "second", "at most", [1.25, 1.25], None, None),
    ]


def test_each_hour_has_as_many_departures_of_its_own_and_some_of_two_hours_before() -> None:
    hours = [hourly.delivery(hour, EACH) for hour in range(4)]
    times = [
        {record.event.event_id: record.event.event_time for record in hour if record.event}
        for hour in hours
    ]
    shared = [len(times[2].keys() & times[other].keys()) for other in (0, 1, 3)]
    assert shared == [EACH // 50, 0, 0]
    for number, hour in enumerate(times):
        begin = hourly.FIRST + number * HOUR
        own = [time for time in hour.values() if time >= begin]
        again = [time for time in hour.values() if time < begin]
        assert len(own) == EACH
        assert max(own) < begin + HOUR
        assert len(again) == EACH // 50
        assert begin - 2 * HOUR <= min(again) <= max(again) < begin - HOUR


def test_hours_can_be_made_again_and_hold_no_record_that_the_arms_treat_differently() -> None:
    records = [record for hour in range(20) for record in hourly.delivery(hour, EACH)]
    assert records == [record for hour in range(20) for record in hourly.delivery(hour, EACH)]
    assert {record.kind for record in records} == {"good", "duplicate", "malformed"}
    assert not any(record.delayed for record in records)
    broken = {record.reason for record in records if record.kind == "malformed"}
    assert broken <= workload.REFUSED_BY_BOTH


@pytest.mark.parametrize("hours", HOURS)
def test_the_delay_keeps_an_id_for_the_hours_of_the_name_and_beyond_its_repetition(
    hours: int,
) -> None:
    """Spark keeps it until the watermark, which is the delay behind, has passed its time and the
    delay.
    """
    with own_pipelines():
        spec = registry.load(f"keys_of_{hours}_hours")
    assert spec.name == spec.topic.name
    assert spec.watermark_delay is not None
    assert 2 * spec.watermark_delay == hours * HOUR
    assert spec.watermark_delay > hourly.AGAIN_AFTER * HOUR


@pytest.mark.parametrize("found", [94, 106])
def test_a_state_with_fewer_keys_than_asked_for_or_more_is_no_row(found: int) -> None:
    hold_keys(StateUse(rows=1104, open=1000), 100)
    with pytest.raises(RuntimeError):
        hold_keys(StateUse(rows=found + 1000, open=1000), 100)


def test_a_long_history_has_rows_of_each_table_that_a_run_writes(tmp_path) -> None:
    history = History(tmp_path / "root")
    history.begin_with(2)
    history.grow(3)
    for table in ("batches", "runs"):
        found = ops_tables.query(history.root, table, f"SELECT count(*) AS n FROM {table}")
        assert found.to_pylist() == [{"n": 3}]
