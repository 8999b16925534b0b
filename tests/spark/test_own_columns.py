"""Columns with every name that Sluice's own code uses are as any other to drain and repair."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from spark_jobs.errors import SpecInvalid
from spark_jobs.repair.compute.change import change, explained, rows_after
from spark_jobs.repair.unit import session_rows as sessions
from spark_jobs.spec import (
    Aggregate,
    Deduplicate,
    Field,
    Pipeline,
    Ranges,
    Session,
    Topic,
    Transform,
)
from spark_jobs.spec.analysis.ranged import ranged
from spark_jobs.steps import transform
from spark_jobs.steps.canonical.deduplicate import arrival, canonical
from spark_jobs.table.delta.commit import newest
from spark_jobs.values.own_columns import is_own
from spark_jobs.values.spans import Span
from tests.harness.refused import fails
from tests.unit.test_own_columns import named

NAMES = sorted(
    ({name.strip("_") for _, name in named() if not is_own(name)} - {""})
    | {"before", "after", "row", "copy", "copies", "found", "kept", "at", "moved", "n"}
    | {"group", "order", "select", "from", "timestamp", "user", "date"}
)
AT = datetime(2026, 3, 1, 10, tzinfo=UTC)
DELAY = timedelta(hours=1)
BOUNDS = {"window_start": AT, "window_end": AT + DELAY}
TOPIC = Topic(
    name="t",
    event_time="at_",
    fields=(
        Field(name="at_", type="timestamp"),
        *(Field(name=name, type="string") for name in NAMES),
    ),
)


def values(number: int) -> dict[str, str]:
    return {name: f"{name} {number}" for name in NAMES}


def frame(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame([Row(**row) for row in rows])


def spec(*steps: Any) -> Pipeline:
    ranges = Ranges(context=timedelta(days=1)) if len(steps) > 1 else Ranges()
    return Pipeline(
        name="odd", about="a test", topic=TOPIC, watermark_delay=DELAY, steps=steps, ranges=ranges
    )


@pytest.mark.parametrize("scope", ["watermark", "event_time"])
def test_a_deduplication_keeps_each_of_them(spark, scope):
    rows = frame(spark, [{"at_": AT, **values(each)} for each in (1, 1, 2)])
    step = Deduplicate(keys=("row", "copies", "found", "at_"), scope=scope)
    kept = canonical(rows, step, "at_", DELAY, arrival(rows)).select(*rows.columns).collect()
    assert sorted(row.asDict()["row"] for row in kept) == ["row 1", "row 2"]
    assert all(row.asDict() == {"at_": row["at_"]} | values(int(row["row"][-1])) for row in kept)


def test_a_repair_compares_and_writes_each_of_them(spark):
    given = spec(Deduplicate(keys=("row",)))
    live = frame(spark, [{"at_": AT, **values(each)} for each in (1, 2)])
    computed = frame(spark, [{"at_": AT, **values(each)} for each in (2, 3)])
    paired = explained(change(given, live, computed), computed.where("row = 'row 3'")).cache()
    told = {(row["op"], row["explained"]): row for row in paired.collect()}
    assert {*told} == {("removed", False), (None, False), ("added", True)}
    assert told["added", True]["after"]["copies"] == "copies 3"
    after = rows_after(paired, "at_ IS NOT NULL")
    assert after.columns == live.columns
    assert sorted(row["row"] for row in after.collect()) == ["row 2", "row 3"]


def test_a_repair_of_sessions_does_too(spark):
    keys = ("row", "order", "late", "end")
    step = Aggregate(window=Session(gap=DELAY), keys=keys, measures={"n": "max(n)"})
    given = ranged(spec(Deduplicate(keys=("row",)), step))
    live, computed = (
        frame(spark, [BOUNDS | values(each) for each in one]) for one in ((1, 2), (2, 3))
    )
    spans = [Span(AT, AT + 2 * DELAY)]
    late = computed.where("row = 'row 3'").select(*keys, *BOUNDS)
    found = sessions.replaced(given, spans, live, computed, late)
    paired = sessions.explained(change(given.spec, found.live, found.computed), found.joined)
    told = {(row["op"], row["explained"]) for row in paired.collect()}
    assert told == {("removed", False), (None, False), ("added", True)}


def test_a_batch_that_updates_writes_the_last_of_each_key(spark):
    rows = frame(spark, [{**values(1), "last": "first"}, {**values(1), "last": "second"}])
    [row] = newest(rows.coalesce(1), ("row", "order")).collect()
    assert row.asDict() == values(1) | {"last": "second"}


@pytest.mark.parametrize("sql", ["*, 1 AS _sluice_copy", "*, 1 AS KAFKA"])
def test_a_transform_that_takes_the_name_of_one_of_sluices_columns_is_refused(spark, sql):
    rows = frame(spark, [values(1)])
    with fails(SpecInvalid, "column_reserved"):
        transform.apply(rows, Transform(sql=f"SELECT {sql} FROM rows"), "odd")
