"""One repair of a GroupState over twenty ranges apart, and a context that is too short."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from local.deliveries import CLEAN, Delivered, deliver
from local.flights import FlightEvent, flight_events
from local.publish import publish
from spark_jobs.messages.request import Request
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.long_form import long_form
from tests.harness.scene import Scene

RANGES = 20
MONTHS = 2
FIRST, APART = datetime(2013, 1, 3, tzinfo=UTC), timedelta(hours=60)
"""Farther apart than two contexts: 48 hours before a row, and the row's own 48 hours."""
CONTEXT, SHORT = timedelta(hours=48), timedelta(hours=40)
DELAY = timedelta(hours=2)


def _late(newest: datetime, known: FlightEvent) -> list[Delivered]:
    """Departures of aircraft that nobody has seen, weeks ago, each in a time of its own."""
    made = []
    for number in range(RANGES):
        at = FIRST + number * APART + timedelta(minutes=17)
        event = replace(
            known,
            event_id=f"late-{number}",
            event_type="departure",
            event_time=at,
            scheduled_time=at,
            tail_number=f"LATE{number}",
            cancelled=False,
        )
        arrival = newest + timedelta(seconds=number)
        value = event.to_json().encode()
        made.append(Delivered(arrival, event.event_id.encode(), value, "good", "", True, event))
    return made


class Work:
    """The repairs of the scene."""

    def __init__(self, made: Scene) -> None:
        self.made = made

    def plan(self, kind: str, *ends: datetime) -> RepairPlan:
        given = dict(zip(("start", "end"), ends, strict=False))
        found = plan_repair(
            self.made.spec, self.made.settings, Request(kind=kind, who="test", **given)
        )
        found.store(self.made.paths)
        return found

    def stage(self, plan: RepairPlan) -> str:
        """The code of its problem; empty without one."""
        report = stage(self.made.spec, self.made.settings, plan.repair_id, plan.repair_id)
        return report.problem.code if report.problem else ""

    def swap(self, plan: RepairPlan) -> int:
        return swap(self.made.spec, self.made.settings.root, plan.repair_id, "swap").merged


@long_form
def test_a_repair_of_20_ranges_is_the_oracles_and_a_context_of_40_hours_is_caught(scene, tmp_path):
    made = scene("aircraft_rotations")
    days = flight_events(date(2013, 1, 1), MONTHS)
    # Some of the aircraft, whole: their rotations stay what they are.
    some = [event for event in days if event.tail_number and event.tail_number.endswith("28")]
    load = deliver(some, CLEAN)
    publish(made.kafka, made.topic, load, 1, made.ledger_folder, made.partitions)
    made.run("load")
    newest = max(record.kafka_timestamp for record in load)
    publish(made.kafka, made.topic, _late(newest, some[0]), 2, made.ledger_folder, made.partitions)
    made.run("late")
    assert len(made.ops("late")) == RANGES

    work = Work(made)
    plan = work.plan("repair")
    assert len(plan.spans) == RANGES, plan.spans
    assert work.stage(plan) == ""
    assert work.swap(plan) == RANGES
    watermark = max(event.event_time for event in some if event.event_type == "departure") - DELAY
    wanted = oracle.aircraft_rotations(oracle.events(made.ledger, set()), watermark)
    assert_same(oracle.comparable(made.table()), oracle.comparable(wanted), "the table")

    unseen = [row for row in wanted if row["tail_number"].startswith("LATE")]
    assert {row["outcome"] for row in unseen} == {"unseen"}
    for row in (unseen[0], unseen[-1]):
        around = row["closed_at"] - timedelta(minutes=5), row["closed_at"] + timedelta(minutes=5)
        assert work.stage(work.plan("verify", *around)) == ""
        made.change(ranges=made.spec.ranges.model_copy(update={"context": SHORT}))
        assert work.stage(work.plan("verify", *around)) == "CHANGE_UNEXPLAINED"
        made.change(ranges=made.spec.ranges.model_copy(update={"context": CONTEXT}))
