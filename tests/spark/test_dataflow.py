"""A record's way, on made-up records: its outcome, and whether a Transform is a condition."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.types import StructType

from spark_jobs.dataflow import dataflow
from spark_jobs.decode.raw_filter import BUDGET, CapturePolicy
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline, Transform
from spark_jobs.steps.classify import Outcome, resolve_outcomes
from spark_jobs.values.own_columns import HEADERS, OUTCOME
from tests.unit.specs import deduplicate, pipeline

SETTINGS = Settings("/root", "127.0.0.1:1", Path("/jars"), "local[1]", "1g")
SENT = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATE_BEFORE_MS = int((SENT - timedelta(hours=2)).timestamp()) * 1000
CLOCK_MS = int(SENT.timestamp()) * 1000
SCHEMA = (
    "partition int, offset bigint, timestamp timestamp, millis bigint, "
    f"raw struct<key: binary, value: binary, headers: {HEADERS}>"
)
CONDITION, QUERY = (
    Transform(where="amount > 0"),
    Transform(sql="SELECT * FROM rows WHERE amount > 0"),
)


def event(at: datetime = SENT, amount: int = 1) -> bytes:
    return json.dumps({"id": "a", "at": at.isoformat(), "shop": "b", "amount": amount}).encode()


VALUES = {
    Outcome.MALFORMED: b"{",
    Outcome.PREMATURE: event(SENT + timedelta(hours=1)),
    Outcome.FILTERED: event(amount=-1),
    Outcome.LATE: event(SENT - timedelta(hours=3)),
    Outcome.ACCEPTED: event(),
}


def records(spark: SparkSession) -> DataFrame:
    """As source/port.py gives them: one of each last outcome."""
    rows = [
        (0, offset, SENT, None, (b"key", value, None))
        for offset, value in enumerate(VALUES.values())
    ]
    return spark.createDataFrame(rows, SCHEMA).select(
        F.struct("partition", "offset", "timestamp", "millis", "raw").alias("kafka")
    )


def outcomes(rows: DataFrame) -> dict[Outcome, str]:
    """What each record was to become -> its outcome here."""
    wanted = list(VALUES)
    return {
        wanted[row.offset]: row[OUTCOME] for row in rows.select("kafka.offset", OUTCOME).collect()
    }


def spec_with(step: Transform) -> Pipeline:
    return pipeline(steps=(step, deduplicate()))


def test_before_any_step_a_record_is_malformed_premature_or_good(spark):
    found = outcomes(dataflow(records(spark), spec_with(CONDITION), SETTINGS, {}).classified)
    assert found == {
        outcome: outcome if outcome in ("malformed", "premature") else "good" for outcome in VALUES
    }


def test_a_record_that_is_newer_than_its_batch_is_premature_whatever_kafka_has(spark):
    """With CreateTime the producer stamps both, by the same wrong clock."""
    year_ago = CLOCK_MS - 365 * 86_400_000
    flow = dataflow(records(spark), spec_with(CONDITION), SETTINGS, {}, clock_ms=year_ago)
    assert set(outcomes(flow.classified).values()) == {"malformed", "premature"}


@pytest.mark.parametrize("step", [CONDITION, QUERY], ids=["condition", "query"])
def test_of_a_batch_that_is_over_each_record_has_its_last_outcome_and_what_was_filtered_is_left_out(
    spark, step
):
    spec = spec_with(step)
    given = records(spark)
    classified = dataflow(given, spec, SETTINGS, {}).classified
    found = outcomes(
        resolve_outcomes(
            classified,
            lambda: dataflow(given, spec, SETTINGS, {}).stateful_input,
            spec,
            LATE_BEFORE_MS,
        )
    )
    assert found == {outcome: outcome for outcome in VALUES if outcome is not Outcome.FILTERED}


@pytest.mark.parametrize(
    "capture", [None, CapturePolicy(LATE_BEFORE_MS, BUDGET, CLOCK_MS)], ids=["explain", "drain"]
)
def test_only_a_drain_counts_what_passes_and_its_rows_are_the_same(spark, capture):
    flow = dataflow(records(spark), spec_with(CONDITION), SETTINGS, {}, capture)
    plan = flow.stateful_input._jdf.queryExecution().analyzed().toString()  # noqa: SLF001 - no public way to a plan
    assert re.findall(r"CollectMetrics (\w+)", plan) == (["entered", "fate"] if capture else [])
    assert flow.stateful_input.columns == ["id", "at", "shop", "amount", "kafka"]
    assert sorted(row.offset for row in flow.stateful_input.select("kafka.offset").collect()) == [
        3,
        4,
    ]
    raw = {
        row.offset: row.value
        for row in flow.stateful_input.select("kafka.offset", "kafka.raw.value").collect()
    }
    assert raw[3] == VALUES[Outcome.LATE]
    assert raw[4] == (None if capture else VALUES[Outcome.ACCEPTED]), (
        "only what may be rejected keeps its bytes"
    )


def test_python_gets_no_lists_of_a_topic_that_reads_no_headers(spark):
    """Of null lists alone a batch took 46 processor seconds a million records, and 10 without."""
    rows = dataflow(records(spark), spec_with(CONDITION), SETTINGS, {}).classified
    kafka = decoder_input(rows)["kafka"].dataType
    assert kafka["raw"].dataType.names == ["key", "value"]
    assert rows.schema["kafka"].dataType["raw"].dataType.names == ["key", "value", "headers"]
    assert {row.raw.headers for row in rows.select("kafka.raw").collect()} == {None}


def decoder_input(rows: DataFrame) -> StructType:
    """What Spark sends to the Python workers that decode."""
    nodes = [rows._jdf.queryExecution().analyzed()]  # noqa: SLF001 - as above
    while (node := nodes.pop()).nodeName() != "MapInArrow":
        nodes += [node.children().apply(at) for at in range(node.children().size())]
    return StructType.fromJson(json.loads(node.children().apply(0).schema().json()))
