"""A late record on which an expression fails: the repair names it, and is done once corrected."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from local.deliveries import split
from spark_jobs.admin.quarantine import quarantine
from spark_jobs.errors import ExpressionFailed
from spark_jobs.repair.manifest import approve
from spark_jobs.spec import Deduplicate, Pipeline, Ranges, Transform
from spark_jobs.topics.flights import FLIGHTS
from tests.harness.long_form import long_form
from tests.harness.refused import because, has
from tests.harness.scene import Scene, records
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs

pytestmark = alike("records that were put aside come back")

EVENTS = 1200


def late_ids() -> list[str]:
    """Ids of good events that are delivered once, in the second delivery, and are late by then."""
    first, second = split(records(EVENTS), 2)
    times = Counter(each.event.event_id for each in (*first, *second) if each.event)
    newest = max(each.event.event_time for each in first if each.event and each.kind == "good")
    return [
        each.event.event_id
        for each in second
        if each.event
        and each.kind == "good"
        and each.event.event_time < newest - timedelta(hours=3)
        and times[each.event.event_id] == 1
    ]


def rate(division: str) -> Transform:
    return Transform(sql=f"SELECT event_id, event_time, {division} AS rate FROM rows")


def drained_twice(scene: Callable[..., Scene], wrong: str) -> tuple[Scene, tuple[int, int]]:
    """Two drains, and the place of the late record on which the expression fails."""
    divisor = f"CAST(event_id <> '{wrong}' AS INT)"
    spec = Pipeline(
        name="failing_repair",
        about="Flights, by an expression that one late record makes fail.",
        topic=FLIGHTS,
        watermark_delay="2 hours",
        ranges=Ranges(by="event_time"),
        steps=(Deduplicate(keys=("event_id",)), rate(f"12 div {divisor}")),
    )
    made = scene(spec, events=EVENTS, deliveries=2)
    for number in range(2):
        made.deliver()
        made.run(f"drain-{number}")
    [place] = [
        (row["partition"], row["offset"])
        for row in made.ledger.to_pylist()
        if row["event_id"] == wrong and row["kind"] == "good"
    ]
    assert place in made.late()
    return made, place


def test_a_repair_goes_on_without_a_record_that_a_person_puts_aside(scene):
    wrong, right = late_ids()[:2]
    made, place = drained_twice(scene, wrong)
    work = Repairs(made)
    problem = work.stage(work.plan()).problem
    named = f"{place[0]}:{place[1]}"
    first = has(f"sluice quarantine failing_repair --record {named} --reason WHY")
    because(problem, ExpressionFailed, "expression_failed", first=first)
    intent = quarantine(made.spec, made.settings, (named,), "it has no rate", "somebody")
    intent.execute()
    report = work.stage(plan := work.plan())
    assert report.problem is None, report.problem
    approve(made.paths, plan.repair_id, "somebody")  # one record is newly bad
    work.swap(plan)
    assert {wrong, right} & ids(made) == {right}
    [kept] = [row for row in made.ops("quarantine") if "it has no rate" in row["reason"]]
    assert (kept["partition"], kept["offset"]) == place
    assert work.plan().idle
    assert work.plan("replay").idle


@long_form
def test_a_repair_names_the_record_on_which_an_expression_fails_until_it_is_corrected(scene):
    wrong = late_ids()[0]
    made, place = drained_twice(scene, wrong)
    spec, divisor = made.spec, f"CAST(event_id <> '{wrong}' AS INT)"
    work, before = Repairs(made), ids(made)
    problem = work.stage(work.plan()).problem
    partition, offset = place
    because(
        problem,
        ExpressionFailed,
        "expression_failed",
        why=has(
            f"It fails on records of topic {made.topic}: partition {partition} offset {offset}."
        ),
        where=has(f"step 2 (transform), sql: SELECT event_id, event_time, 12 div {divisor}"),
        condition="DIVIDE_BY_ZERO",
        then=has("then plan the repair again"),
    )
    assert not problem.error().retry
    assert ids(made) == before

    old = spec.steps[1].sql_texts[0].text
    corrected = rate(f"12 div nullif({divisor}, 0)")
    made.change(steps=(spec.steps[0], corrected), compatible_expressions=(old,))
    report = work.stage(plan := work.plan())
    assert report.problem is None, report.problem
    work.swap(plan)
    assert wrong in ids(made)
    assert place in {(row["partition"], row["offset"]) for row in made.ops("merged")}


def ids(made: Scene) -> set[Any]:
    return {row["event_id"] for row in made.table()}
