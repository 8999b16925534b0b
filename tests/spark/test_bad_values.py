"""A value on which an expression fails (a delay of 7): its record is malformed, the run goes on."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import groupby
from math import trunc
from typing import Any

import pytest
from pyspark.errors import ArithmeticException

from spark_jobs.admin.quarantine import quarantine
from spark_jobs.checkpoint.notes.failing import FailingRecords, read_failing
from spark_jobs.errors import ExpressionFailed, SparkFailed, StateIncompatible
from spark_jobs.runs.failures import failing_search
from spark_jobs.spec import Aggregate, Deduplicate, Pipeline, Session, State, Transform
from spark_jobs.spec.analysis.state_checks import REJECTIONS
from spark_jobs.steps import chain
from spark_jobs.storage import failpoint
from spark_jobs.topics.flights import FLIGHTS
from tests.harness.refused import because, has
from tests.harness.scene import Scene
from tests.harness.turns import held_by
from tests.unit import specs

pytestmark = held_by("unit/test_failing.py", "unit/test_group_search.py", "unit/test_bad_rows.py")

BAD = 7
RATIO = f"distance_miles div (delay_minutes - {BAD})"
MEAN = f"sum(distance_miles / (delay_minutes - {BAD}))"
CORRECTED = f"sum(try_divide(distance_miles, delay_minutes - {BAD}))"
GAP = f"CASE WHEN delay_minutes = {BAD} THEN '0 minutes' ELSE '30 minutes' END"
Row = dict[str, Any]


def spec(*steps: Any, **changes: Any) -> Pipeline:
    usual: dict[str, Any] = {
        "name": "bad_values",
        "about": "Flights, by expressions that some values make fail.",
        "topic": FLIGHTS,
        "steps": steps,
        "state": State(budget_rows=1_000_000),
    }
    return Pipeline(**usual | changes)


def by_carrier(measure: str, **changes: Any) -> Pipeline:
    """A row for each carrier, written anew in every batch: nothing is late."""
    measures = {"flights": "count(*)", "ratio": measure}
    step = Aggregate(keys=("carrier",), measures=measures, counts="flights")
    return spec(step, output_mode="complete", **changes)


def sent(made: Scene) -> list[Row]:
    """Every record that can be decoded and is not premature."""
    return [row for row in made.ledger.to_pylist() if row["kind"] in {"good", "duplicate"}]


def bad(made: Scene) -> list[Row]:
    return [row for row in sent(made) if row["delay_minutes"] == BAD]


def good(made: Scene) -> list[Row]:
    return [row for row in sent(made) if row["delay_minutes"] != BAD]


def ratio(row: Row, over: Callable[[float], float] = trunc) -> float | None:
    """Of one flight; null where it has no delay."""
    delay = row["delay_minutes"]
    return None if delay in (None, BAD) else over(row["distance_miles"] / (delay - BAD))


def each_once(rows: list[Row]) -> list[Row]:
    return [*{row["event_id"]: row for row in rows}.values()]


def hold_quarantine(made: Scene, where: str, condition: str, rows: list[Row] | None = None) -> None:
    """Each bad record is in ops.quarantine once, byte for byte, with step, field and class."""
    wanted = bad(made) if rows is None else rows
    assert wanted, "no record has the value"
    kept = [row for row in made.ops("quarantine") if condition in row["reason"]]
    assert sorted((row["partition"], row["offset"]) for row in kept) == sorted(
        (row["partition"], row["offset"]) for row in wanted
    )
    places = {(row["partition"], row["offset"]): row for row in wanted}
    for row in kept:
        assert row["kind"] == "malformed"
        assert row["reason"].startswith(where), row["reason"]
        event = json.loads(row["value"])
        assert event["event_id"] == places[row["partition"], row["offset"]]["event_id"]


def malformed(made: Scene) -> int:
    return sum(row["kind"] == "malformed" for row in made.ledger.to_pylist())


def test_a_row_without_a_gap_of_its_own_is_quarantined_instead_of_vanishing(scene):
    step = Aggregate(
        window=Session(gap_sql=GAP), keys=("carrier",), measures={"flights": "count(*)"}
    )
    made = scene(
        spec(step, output_mode="complete", watermark_delay="2 hours"), events=200, deliveries=1
    )
    made.deliver_all()
    made.run()
    hold_quarantine(made, f"step 1 (aggregate), window.gap_sql: {GAP}", "USER_RAISED_EXCEPTION")
    wanted = []
    rows = sorted(good(made), key=lambda row: (row["carrier"], row["event_time"]))
    for carrier, flights in groupby(rows, lambda row: row["carrier"]):
        ends = None
        for row in flights:
            at = row["event_time"]
            if ends is None or at > ends:
                wanted.append([carrier, at, 0])
            ends = at + timedelta(minutes=30)
            wanted[-1][2] += 1
    assert (
        sorted([row["carrier"], row["window_start"], row["flights"]] for row in made.table())
        == wanted
    )


KILLS = ("before it is stored", "after it is stored", "table.committed", "audit")


@pytest.mark.parametrize("kill", KILLS)
def test_a_run_killed_anywhere_near_a_failing_record_loses_and_doubles_nothing(
    scene, monkeypatch, kill
):
    """Before and after the record, with the batch in the table, and before its account."""
    rate = Transform(sql=f"SELECT event_id, {RATIO} AS ratio FROM rows")
    steps = (Deduplicate(keys=("event_id",)), rate)
    made = scene(spec(*steps, watermark_delay="400 days"), events=260, deliveries=1)
    made.deliver()
    put = FailingRecords.put

    def killed(self: FailingRecords, path: Any, held: Any):
        if kill.startswith("after"):
            put(self, path, held)
        raise failpoint.Failure(kill)

    with monkeypatch.context() as active:
        if kill.endswith("stored"):
            active.setattr(FailingRecords, "put", killed)
        else:
            active.setitem(failpoint.ACTIVE, kill, "raise")
        because(made.drain("killed").problem, SparkFailed, "unexpected", text=has(kill))
    assert bool(read_failing(made.paths.failing).records) is not kill.startswith("before")
    made.run("behind it")
    hold_quarantine(made, f"step 2 (transform), sql: SELECT event_id, {RATIO}", "DIVIDE_BY_ZERO")
    assert sum(row["malformed"] for row in made.ops("batches")) == malformed(made) + len(bad(made))
    wanted = sorted((row["event_id"], ratio(row)) for row in each_once(good(made)))
    assert sorted((row["event_id"], row["ratio"]) for row in made.table()) == wanted


def test_where_a_group_fails_its_records_are_proposed_and_nobody_is_quarantined(scene):
    measure = "sum(distance_miles) / (count(*) - count(*))"
    step = Aggregate(measures={"ratio": measure})
    made = scene(spec(step, output_mode="complete"), events=100, deliveries=1)
    made.deliver_all()
    report = made.drain()
    because(
        report.problem,
        ExpressionFailed,
        "expression_failed",
        where=has(f"step 1 (aggregate), measures['ratio']: {measure}"),
        condition="DIVIDE_BY_ZERO",
        why=has(f"It fails on {len(sent(made))} record(s) of batch 0"),
    )
    assert not report.problem.error().retry
    known = read_failing(made.paths.failing)
    assert (known.reasons, len(known.proposed)) == ({}, len(sent(made)))


def test_no_group_is_tried_on_the_heaps_store_and_a_person_names_the_records(scene):
    """Spark may write a snapshot of a try, and the next process would read it."""
    step = Aggregate(measures={"n": f"sum({2**63 - 1})"})
    state = State(provider="hdfs", budget_rows=9)
    made = scene(
        spec(step, output_mode="complete", state=state, on_failing_expression="quarantine"),
        events=50,
        deliveries=1,
    )
    made.deliver_all()
    first = has("--record", "rocksdb")
    because(made.drain().problem, ExpressionFailed, "expression_failed", first=first)
    assert read_failing(made.paths.failing) == FailingRecords()
    first, *others = [f"{row['partition']}:{row['offset']}" for row in sent(made)]
    intent = quarantine(made.spec, made.settings, tuple(others), "too much", "somebody")
    intent.execute()
    made.run("without them")
    assert [row["n"] for row in made.table()] == [2**63 - 1], f"of {first} only"


def test_records_that_overflow_a_sum_together_are_put_aside_when_a_person_agrees(scene):
    """The sum fits with the first delivery, and not with what follows and the state."""
    made = scene(by_carrier("count(*)"), events=300, deliveries=2)
    made.deliver()
    name = max(first := [carrier(row) for row in sent(made)], key=first.count)
    share = (2**63 - 1) // first.count(name)
    measure = f"sum(CASE WHEN carrier = '{name}' THEN {share} ELSE 1 END)"
    made.change(steps=by_carrier(measure).steps)
    made.run("it fits")
    counted = Counter(first)
    seen = places(sent(made))

    made.deliver()
    first = has(f"sluice quarantine {made.spec.name}")
    refused = made.drain("too much").problem
    because(refused, ExpressionFailed, "expression_failed", first=first)
    new = [row for row in sent(made) if place(row) not in seen]
    wrong = {place(row) for row in new if carrier(row) == name}
    assert {
        (each.partition, each.offset) for each in read_failing(made.paths.failing).proposed
    } == wrong
    assert made.drain("again").problem == refused
    intent = quarantine(made.spec, made.settings, (), "", "somebody")
    intent.execute()
    made.run("without them")
    counted.update(carrier(row) for row in new if carrier(row) != name)
    assert {row["carrier"]: row["flights"] for row in made.table()} == counted
    assert sum(row["ratio"] for row in made.table()) == share * counted[name] + sum(
        n for each, n in counted.items() if each != name
    )

    kept = [row for row in made.ops("quarantine") if "OVERFLOW" in row["reason"]]
    assert {place(row) for row in kept} == wrong
    assert all(row["reason"].startswith("step 1 (aggregate), measures['ratio']: ") for row in kept)


def test_any_number_of_records_that_fail_by_themselves_can_be_put_aside(scene):
    measure = "sum(distance_miles div CAST(delay_minutes > 0 AS INT))"
    made = scene(by_carrier(measure, on_failing_expression="quarantine"), events=260, deliveries=1)
    made.change(state_checks_off=tuple(REJECTIONS))  # nearly a third of them fails
    made.deliver_all()
    report = made.run()
    wrong = [
        row for row in sent(made) if row["delay_minutes"] is not None and row["delay_minutes"] <= 0
    ]
    assert len(wrong) > failing_search.MOST
    hold_quarantine(made, "step 1 (aggregate), measures['ratio']: sum(", "DIVIDE_BY_ZERO", wrong)
    assert report.account.malformed == malformed(made) + len(wrong)
    counted = Counter(carrier(row) for row in sent(made)) - Counter(carrier(row) for row in wrong)
    assert {row["carrier"]: row["flights"] for row in made.table()} == counted


def place(row: Row) -> tuple[int, int]:
    return row["partition"], row["offset"]


def places(rows: list[Row]) -> set[tuple[int, int]]:
    return {place(row) for row in rows}


def test_a_corrected_expression_continues_on_the_same_state(scene, monkeypatch):
    """The batch that failed is run again by the new expression, on the state that the old one made."""
    made = scene(by_carrier(MEAN), events=500, deliveries=2, ran="first")
    before = bad(made)
    sums: dict[str, float] = defaultdict(float)
    for row in good(made):
        sums[row["carrier"]] += ratio(row, float) or 0
    made.deliver()
    with monkeypatch.context() as active:
        active.setattr(failing_search, "MOST", 1)
        failed = made.drain("too many")
    first = has("sluice quarantine bad_values")
    because(failed.problem, ExpressionFailed, "expression_failed", first=first)

    def refused(measure: str, *declared: str, reason: str, **told: has):
        made.change(steps=by_carrier(measure).steps, compatible_expressions=declared)
        because(made.drain("refused").problem, StateIncompatible, reason, **told)

    declare = has(f"add {MEAN!r} to compatible_expressions")
    refused(CORRECTED, reason="spec_changed", declare=declare)
    for measure, changes in (
        (CORRECTED.replace("sum", "avg"), "avg(double), kept as struct<sum:double,count:bigint>"),
        ("sum(distance_miles)", "sum(int), kept as struct<sum:bigint>"),
    ):
        refused(measure, MEAN, reason="corrected_type_differs", changes=has(changes))

    made.change(steps=by_carrier(CORRECTED).steps, compatible_expressions=(MEAN,))
    said: list[str] = []
    report = made.drain("corrected", said.append)
    assert report.status == "succeeded", report.problem
    assert any("declares the old expression compatible" in line for line in said)
    hold_quarantine(made, "step 1 (aggregate), measures['ratio']", "DIVIDE_BY_ZERO", before)
    seen = {(row["partition"], row["offset"]) for row in before}
    rows = [row for row in sent(made) if (row["partition"], row["offset"]) not in seen]
    assert len(bad(made)) > len(before), "the second delivery has the value too"
    for name, wanted in groupby(sorted(rows, key=carrier), carrier):
        flights = [*wanted]
        [row] = [row for row in made.table() if row["carrier"] == name]
        assert row["flights"] == len(flights)
        assert (row["ratio"] or 0) == pytest.approx(sum(ratio(f, float) or 0 for f in flights))


def carrier(row: Row) -> str:
    return str(row["carrier"])


SHARE = "100 / amount > 2"
BEFORE_MS = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1000
SCHEMA = "id string, at timestamp, shop string, amount bigint, kafka string"


@pytest.mark.parametrize(
    ("steps", "fails_when_late"),
    [
        ((specs.deduplicate(), Transform(where=SHARE)), False),
        ((specs.deduplicate(), specs.aggregate(measures={"share": "sum(1 / amount)"}, counts=None)), False),
        ((specs.aggregate(measures={"share": "sum(1 / amount)"}, counts=None),), True),
    ],
    ids=["behind a deduplication", "an aggregate behind it", "in the first step"],
)  # fmt: skip
def test_a_late_record_that_a_later_step_would_fail_on_is_late(spark, steps, fails_when_late):
    """The search looks as far as Spark: deduplications drop late rows first."""
    made = specs.pipeline(steps=steps)

    def fails(hour: int, amount: int) -> bool:
        at = datetime(2026, 1, 1, hour, tzinfo=UTC) - timedelta(hours=4)
        rows = spark.createDataFrame([("a", at, "s", amount, "")], SCHEMA)
        try:
            chain.row_part(rows, made, {}, BEFORE_MS).write.format("noop").mode("append").save()
        except ArithmeticException:
            return True
        return False

    assert [fails(8, 1), fails(8, 0), fails(1, 1)] == [False, True, False]
    assert fails(1, 0) is fails_when_late


def test_a_measure_is_searched_by_its_arguments_and_conditions(spark):
    measures = {
        "n": "count(*)",
        "share": "sum(1 / amount) / (count(*) - count(*))",
        "some": "count_if(10 / (amount - 1) > 0)",
        "most": "max(10 / (amount - 2)) FILTER (WHERE 1 / (amount - 3) > 0)",
    }
    made = specs.pipeline(steps=(specs.aggregate(measures=measures, counts=None),))

    def fails(amount: int) -> bool:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        rows = spark.createDataFrame([("a", at, "s", amount, "")], SCHEMA)
        try:
            chain.row_part(rows, made, {}, 0).write.format("noop").mode("append").save()
        except ArithmeticException:
            return True
        return False

    assert [amount for amount in range(9) if fails(amount)] == [0, 1, 2, 3]
