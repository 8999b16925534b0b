"""Replay: bad records that a corrected spec reads are in the table, which is DuckDB's then."""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from local.deliveries import Delivered
from local.flights import FlightEvent
from local.publish import publish
from spark_jobs.repair.manifest import approve
from spark_jobs.repair.undo import undo
from spark_jobs.spec import Topic
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.scene import Scene, records
from tests.harness.turns import alike
from tests.spark.test_repair import HOUR, Repairs, covered, rows, watermark_of

pytestmark = alike("records that were put aside come back")

MENDED = 100
AHEAD = timedelta(days=4)
START = datetime(2013, 1, 1, tzinfo=UTC)


@pytest.fixture(autouse=True)
def demo(monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "spark_jobs.pipelines")


def corrected(topic: Topic) -> Topic:
    """A flight may be without its distance, and a clock may be days ahead."""
    fields = tuple(
        field.model_copy(update={"required": False}) if field.name == "distance_miles" else field
        for field in topic.fields
    )
    return topic.model_copy(update={"fields": fields, "max_ahead": AHEAD})


def broken(record: Delivered, mark: str, reason: str) -> Delivered:
    """The record, under another id, without its distance. The ledger has what it says."""
    event = replace(record.event, event_id=record.event.event_id + mark)
    value = {name: part for name, part in event.fields().items() if name != "distance_miles"}
    return replace(
        record, event=event, value=json.dumps(value).encode(), kind="malformed", reason=reason
    )


def some_broken(events: int) -> list[Delivered]:
    """Departures, copies of departures that are accepted, arrivals, and one of the last hour."""
    good = [each for each in records(events) if each.kind == "good" and not each.delayed]

    def of(kind: str) -> list[Delivered]:
        return [each for each in good[: len(good) // 3] if _event(each).event_type == kind]

    departures = of("departure")
    last = max(good, key=lambda each: _event(each).event_time)
    return [
        *(broken(each, "-mended", "mended") for each in departures[:: len(departures) // MENDED]),
        *(broken(each, "", "copy") for each in departures[:5]),
        *(broken(each, "-arrived", "mended") for each in of("arrival")[:5]),
        broken(last, "-last", "mended"),
    ]


def _event(record: Delivered) -> FlightEvent:
    assert record.event is not None
    return record.event


def as_corrected(ledger: pa.Table) -> pa.Table:
    """The ledger, with what is good by the corrected spec as good."""
    rows = ledger.to_pylist()
    for row in rows:
        ahead = row["kind"] == "premature" and row["event_time"] - row["kafka_timestamp"] <= AHEAD
        if ahead or row["reason"] == "mended":
            row["kind"] = "good"
    return pa.Table.from_pylist(rows, ledger.schema)


def tightened(topic: Topic) -> Topic:
    """A cancelled flight, which has no delay, is malformed."""
    fields = tuple(
        field.model_copy(update={"required": True}) if field.name == "delay_minutes" else field
        for field in topic.fields
    )
    return topic.model_copy(update={"fields": fields})


def taken_out(work: Repairs, span: tuple[datetime, datetime], watermark: datetime) -> None:
    """A backfill takes out what is bad by now and keeps it: verify fails before it."""
    made, before = work.made, quarantined(work.made)
    failed = work.stage(work.plan("verify", *span))
    told = failed.problem.parameters
    assert (failed.problem.reason, told["pipeline"]) == ("newly_bad", made.spec.name)
    assert told["start"] == "2013-01-01T00:00:00Z"
    assert failed.change.newly_bad > MENDED
    assert quarantined(made) == before, "a verify changes nothing"

    plan = work.plan("backfill", *span)
    report = work.stage(plan)
    assert report.problem is None, report.problem
    approve(made.paths, plan.repair_id, "tester")
    work.swap(plan)
    ledger = made.ledger.filter(pc.field("delay_minutes").is_valid())
    wanted = oracle.departure_delays(oracle.events(ledger, set()), watermark)
    inside = [row for row in made.table() if row["window_end"] <= span[1]]
    canonical = [row for row in wanted if row["window_end"] <= span[1]]
    assert_same(oracle.comparable(inside), oracle.comparable(canonical), "the table without them")
    kept = quarantined(made)
    assert max(kept.values()) == 1, "each record once"
    assert before.keys() < kept.keys()
    bad = {
        (row["partition"], row["offset"]): row["event_time"]
        for row in made.ledger.to_pylist()
        if row["kind"] in {"good", "duplicate"} and row["delay_minutes"] is None
    }
    assert kept.keys() - before.keys() <= bad.keys()
    assert {place for place, at in bad.items() if at < span[1]} <= kept.keys()
    late = {(row["partition"], row["offset"]) for row in made.ops("late")}
    assert late & bad.keys() & kept.keys(), "none of them was late"
    assert covered(made).quarantine.off == covered(made).balance.off == 0
    proof, _ = work.done("verify", *span)
    assert (proof.change.newly_bad, proof.change.differs) == (0, 0)

    undo(made.spec, made.settings.root, plan.repair_id, "undo")
    assert quarantined(made) == kept, "rather in the rows and there than in neither"


def quarantined(made: Scene) -> Counter[tuple[int, int]]:
    """Place -> how often it is in ops.quarantine."""
    return Counter((row["partition"], row["offset"]) for row in made.ops("quarantine"))


def test_after_a_replay_the_table_has_what_the_corrected_spec_decodes_until_it_is_undone(scene):
    made = scene("departure_delays")
    work = Repairs(made)
    made.deliver()
    publish(made.kafka, made.topic, some_broken(6000), 9, made.ledger_folder, made.partitions)
    for number in range(3):
        made.run(f"drain-{number}")
        if number < 2:
            made.deliver()
    work.done()
    before, watermark, wrong = rows(made), watermark_of(made), made.spec
    assert work.plan("replay").idle, "by the spec as it was"
    made.change(topic=corrected(made.spec.topic))
    wanted = oracle.departure_delays(oracle.events(as_corrected(made.ledger), set()), watermark)
    plan = work.plan("replay")
    waits = covered(made).quarantine
    assert (waits.replayable, waits.off) == (len(plan.replays), 0)
    assert waits.waiting >= 1, "the one of the last hour"
    report = work.stage(plan)
    assert report.problem is None, report.problem
    assert (report.change.unexplained, report.change.unaccounted) == (0, 0)
    assert report.change.count_difference == 0
    work.swap(plan)
    assert_same(rows(made), oracle.comparable(wanted), "the table after the replay")
    fates = Counter(row["fate"] for row in made.ops("merged") if row["source"] == "quarantine")
    assert fates["duplicate"] == 5
    assert fates["filtered"] >= 5
    assert fates["merged"] >= MENDED
    assert fates.total() == len(plan.replays)
    assert work.plan("replay").idle, "again"
    assert covered(made).quarantine.off == 0
    span = START, watermark - 3 * HOUR
    proof, _ = work.done("verify", *span)
    assert proof.change.differs == 0
    replayed = rows(made)
    # It makes the replayed records bad again, and so others that drains took.
    made.spec = wrong.model_copy(update={"topic": tightened(wrong.topic)})
    taken_out(work, span, watermark)
    made.spec = wrong
    assert_same(rows(made), replayed, "the table after the undo of the backfill")
    undo(made.spec, made.settings.root, plan.repair_id, "undo")
    assert_same(rows(made), before, "the table after the undo")
    made.change(topic=corrected(made.spec.topic))
    again = work.plan("replay").replays
    assert all(each in again for each in plan.replays), "its records wait again"
