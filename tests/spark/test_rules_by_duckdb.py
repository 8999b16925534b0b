"""Random rules over random records: outcomes, reasons and counts are DuckDB's."""

import json
import os
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.dataflow import dataflow
from spark_jobs.spec import Pipeline, Rule, Transform
from spark_jobs.steps.by_rules import rule_counts
from spark_jobs.steps.classify import Outcome, resolve_outcomes
from spark_jobs.values.numbering import BITS
from spark_jobs.values.own_columns import MALFORMED, OUTCOME
from tests.harness.session import COMPILED, INTERPRETED
from tests.harness.turns import alike
from tests.spark.test_dataflow import CLOCK_MS, LATE_BEFORE_MS, SCHEMA, SENT, SETTINGS
from tests.unit.specs import deduplicate, pipeline, topic

pytestmark = alike("a row rule")

CASES = int(os.environ.get("SLUICE_CASES", "6"))
TIMES = [SENT, SENT - timedelta(hours=3), SENT + timedelta(hours=1)]
AMOUNTS = [None, -7, 0, 1, 5, 2**62]


class Condition(NamedTuple):
    """A rule's SQL for Spark, and for DuckDB; and where Spark's raises, for DuckDB."""

    spark: str
    duckdb: str
    raises: str = "false"


CONDITIONS = [
    Condition("amount > 0", "amount > 0"),
    Condition("amount IS NOT NULL", "amount IS NOT NULL"),
    Condition("shop IN ('a', '7') OR amount < 0", "shop IN ('a', '7') OR amount < 0"),
    Condition("length(shop) > 0 -- or none", "length(shop) > 0"),
    Condition(
        "at < timestamp'2026-01-01 12:30:00'", "\"at\" < '2026-01-01 12:30:00+00'::timestamptz"
    ),
    Condition(
        "100 div amount > 15", "100 // nullif(amount, 0) > 15", "coalesce(amount = 0, false)"
    ),
    # Both have the same part, which Spark would compute before the two.
    Condition(
        "100 div amount < 30", "100 // nullif(amount, 0) < 30", "coalesce(amount = 0, false)"
    ),
    Condition(
        "amount * 4 > 3", "amount::hugeint * 4 > 3", "coalesce(amount > 2::hugeint**60, false)"
    ),
    Condition(
        "CAST(shop AS INT) = 7", "TRY_CAST(shop AS INT) = 7", "TRY_CAST(shop AS INT) IS NULL"
    ),
    Condition("CAST(NULL AS BOOLEAN)", "NULL::boolean"),
]
Made = tuple[tuple[Rule, Condition], ...]


@st.composite
def rules(draw: st.DrawFn, most: int = 6, without: str = "refuse") -> Made:
    kinds = [kind for kind in ("warn", "drop", "quarantine", "refuse") if kind != without]
    found = []
    for number in range(draw(st.integers(0, most))):
        condition = draw(st.sampled_from(CONDITIONS))
        made = Rule(
            name=f"r{number}",
            sql=condition.spark,
            on_failure=draw(st.sampled_from(kinds)),
            null=draw(st.sampled_from(["passes", "fails"])),
        )
        found.append((made, condition))
    return tuple(found)


record = st.tuples(
    st.sampled_from(TIMES),
    st.sampled_from(["a", "7", "", "b"]),
    st.sampled_from(AMOUNTS),
    st.integers(0, 9),  # 0: its bytes are no JSON
)


def values(of: tuple[datetime, str, int | None, int]) -> bytes:
    at, shop, amount, whole = of
    told = {"id": "x", "at": at.isoformat(), "shop": shop, "amount": amount}
    return json.dumps(told).encode() if whole else b"{"


def as_kafka_has_them(spark: SparkSession, records: list[Any], topics: int) -> DataFrame:
    rows = [
        ((offset % topics) << BITS, offset, SENT, None, (b"k", values(of), None))
        for offset, of in enumerate(records)
    ]
    return spark.createDataFrame(rows, SCHEMA).select(
        F.struct("partition", "offset", "timestamp", "millis", "raw").alias("kafka")
    )


def by_duckdb(records: list[Any], made: list[Made], names: list[list[str]]) -> tuple[Any, Any]:
    """Offset -> outcome, and what its reason names; and rule -> records that fail it."""
    verdicts = [judged_by_duckdb(records, of) for of in made]
    outcomes, counts = {}, {name: 0 for each in names for name in each}
    for offset, (at, _, amount, whole) in enumerate(records):
        of, named = made[offset % len(made)], names[offset % len(made)]
        row = verdicts[offset % len(made)][offset] if whole else []
        raising = [rule.name for (rule, _), (raises, _) in zip(of, row, strict=False) if raises]
        failing = [
            (rule, name)
            for (rule, _), name, (raises, held) in zip(of, named, row, strict=False)
            if not raises and not held
        ]
        for _, name in failing:
            counts[name] += 1
        kinds = {rule.on_failure for rule, _ in failing}
        if not whole:
            outcomes[offset] = (Outcome.MALFORMED, None)
        elif raising or "quarantine" in kinds:
            reason = [rule.name for rule, _ in failing], raising
            outcomes[offset] = (Outcome.MALFORMED, reason)
        elif at > SENT:
            outcomes[offset] = (Outcome.PREMATURE, None)
        elif "drop" in kinds or (amount is not None and amount < 0):
            outcomes[offset] = (Outcome.FILTERED, None)
        else:
            late = at <= SENT - timedelta(hours=2)
            outcomes[offset] = (Outcome.LATE if late else Outcome.ACCEPTED, None)
    return outcomes, counts


def judged_by_duckdb(records: list[Any], of: Made) -> list[list[tuple[bool, bool]]]:
    """Of each record, for each rule whether Spark's SQL raises and whether it is fulfilled."""
    given = pa.table(
        {
            "number": pa.array(range(len(records)), pa.int64()),
            "at": pa.array([each[0] for each in records], pa.timestamp("us", "UTC")),
            "shop": pa.array([each[1] for each in records], pa.string()),
            "amount": pa.array([each[2] for each in records], pa.int64()),
        }
    )
    columns = [
        f"{condition.raises}, coalesce({condition.duckdb}, {rule.null == 'passes'})"
        for rule, condition in of
    ]
    with duckdb.connect() as found:
        found.register("given", given)
        sql = f"SELECT {', '.join(['number', *columns])} FROM given ORDER BY number"
        rows = found.execute(sql).fetchall()
    return [list(zip(row[1::2], row[2::2], strict=True)) for row in rows]


def told(failing: list[str], raising: list[str]) -> str:
    said = [f"it fails the rules {', '.join(failing)}"] if failing else []
    said += [f"it makes the SQL of these rules fail: {', '.join(raising)}"] if raising else []
    return "; ".join(said)


def by_spark(spark: SparkSession, spec: Pipeline, rows: DataFrame) -> tuple[Any, Any]:
    flow = dataflow(rows, spec, SETTINGS, {}, clock_ms=CLOCK_MS)
    counts = {}
    if any(each.rules for each in spec.inputs):
        counted = flow.classified.agg(rule_counts(spec.inputs, spec.inputs.rules))
        counts = counted.collect()[0]["rules"]
    resolved = resolve_outcomes(flow.classified, lambda: flow.stateful_input, spec, LATE_BEFORE_MS)
    found = resolved.select("kafka.offset", OUTCOME, MALFORMED).collect()
    return {offset: (Outcome(outcome), reason) for offset, outcome, reason in found}, counts


@pytest.fixture(params=[INTERPRETED, COMPILED], ids=["interpreted", "compiled"])
def expressions(spark, request):
    """As tests have them, and as a drain does: what Spark computes first of several differs."""
    for name, value in request.param.items():
        spark.conf.set(name, value)
    yield
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)


@pytest.mark.usefixtures("expressions")
@pytest.mark.parametrize("step", ["amount IS NULL OR amount >= 0", None], ids=["where", "sql"])
@settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    made=st.lists(rules(), min_size=1, max_size=2),
    records=st.lists(record, min_size=20, max_size=40),
)
def test_each_record_has_the_outcome_and_the_reason_that_duckdb_gives(spark, step, made, records):
    where = step or "amount IS NULL OR amount >= 0"
    filtering = (
        Transform(where=where) if step else Transform(sql=f"SELECT * FROM rows WHERE {where}")
    )
    topics = tuple(
        topic(name=f"t{n}", rules=tuple(rule for rule, _ in of)) for n, of in enumerate(made)
    )
    steps = (filtering, deduplicate())
    spec = pipeline(topic=topics[0], steps=steps) if len(made) == 1 else (
        pipeline(topic=None, topics=topics, steps=steps)
    )  # fmt: skip
    names = [[*each] for each in spec.inputs.rules]
    outcomes, counts = by_spark(spark, spec, as_kafka_has_them(spark, records, len(made)))
    wanted, failing = by_duckdb(records, made, names)
    kept = {at: of for at, of in wanted.items() if of[0] is not Outcome.FILTERED}
    assert {at: outcome for at, (outcome, _) in outcomes.items()} == {
        at: outcome for at, (outcome, _) in kept.items()
    }
    by_rules = {at: told(*reason) for at, (_, reason) in kept.items() if reason}
    assert {at: outcomes[at][1] for at in by_rules} == by_rules
    assert counts == failing
