"""Years 1 to 9999 through each form of a GroupState, MERGE, checks and the look at state."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from spark_jobs.dataflow import dataflow
from spark_jobs.decode.raw_filter import BUDGET, CapturePolicy
from spark_jobs.messages.job import StateQuery
from spark_jobs.runs.told.state_view import state_view
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Aggregate, Check, Field, GroupState, Pipeline, State, Transform
from spark_jobs.steps.classify import Outcome
from spark_jobs.topics.flights import FLIGHTS
from spark_jobs.values.own_columns import HEADERS, MALFORMED, OUTCOME
from tests.harness.crash import over
from tests.harness.scene import Scene, records
from tests.harness.turns import alike
from tests.unit.specs import FIELDS, group_state, pipeline, topic

NEAR = datetime(2013, 1, 1, 10, 15, tzinfo=UTC)
FAR = {
    "0001-01-01T00:00:00Z": datetime(1, 1, 1, tzinfo=UTC),
    "1582-10-10T12:00:00Z": datetime(1582, 10, 10, 12, tzinfo=UTC),
    "1600-01-01T00:00:00Z": datetime(1600, 1, 1, tzinfo=UTC),
    "1850-01-01T00:00:00.5Z": datetime(1850, 1, 1, 0, 0, 0, 500_000, UTC),
    "2300-01-01T00:00:00Z": datetime(2300, 1, 1, tzinfo=UTC),
    "9999-12-31T23:59:59.9999999Z": datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC),
    "2013-01-01T10:15:00Z": NEAR,
}
EACH = 2
"""Records of each: a failing one is found by trials of Spark."""
OUTPUT = (Field(name="event_id", type="string"), Field(name="held", type="timestamp"))
HELD_BY_PANDAS = {1850, 2013}
ANY_YEAR = {at.year for at in FAR.values()}
pytestmark = [pytest.mark.usefixtures("examples"), alike("a far time")]


@pytest.fixture(scope="module")
def delivered(kafka, tmp_path_factory) -> Scene:
    """Events whose scheduled times are FAR's, one after the other."""
    made = Scene(kafka, tmp_path_factory.mktemp("far"), "flight_events", deliveries=1, partitions=1)
    good = [each for each in records(60) if each.kind == "good" and each.value][: EACH * len(FAR)]
    texts = cycle(FAR)
    made._publish(1, [replace(each, value=_with(each.value, next(texts))) for each in good])  # noqa: SLF001
    return made


def _with(value: bytes | None, scheduled_time: str) -> bytes:
    return json.dumps(json.loads(value or b"{}") | {"scheduled_time": scheduled_time}).encode()


def spec(*steps: Any, **changes: Any) -> Pipeline:
    usual = {"name": "far_times", "about": "Far times.", "topic": FLIGHTS, "steps": steps}
    return Pipeline(**usual | {"state": State(budget_rows=100, shuffle_partitions=1)} | changes)


def form(name: str, processor: str, **changes: Any) -> GroupState:
    usual = {"form": name, "processor": processor, "keys": ("carrier",), "time_mode": "none"}
    return GroupState(**usual | {"output": OUTPUT} | changes)


LAST = (Field(name="last", type="timestamp"),)
FORMS = {
    "row": (form("row", "ByRow"), ANY_YEAR - {1582}),
    "pandas": (form("pandas", "ByFrame"), HELD_BY_PANDAS),
    "apply": (form("apply", "by_function", state=LAST), HELD_BY_PANDAS),
    "buckets": (form("buckets", "in_buckets", state=LAST, buckets=2), ANY_YEAR),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_form_gets_the_times_that_it_holds_and_the_other_records_are_malformed(
    delivered, tmp_path, name
):
    step, years = FORMS[name]
    made = over(delivered, tmp_path / "root", spec(step))
    report = made.run()
    there = [at for at in FAR.values() if at.year in years]
    assert Counter(row["held"] for row in made.table()) == dict.fromkeys(there, EACH)
    refused = [at for at in FAR.values() if at.year not in years]
    assert report.account.malformed == EACH * len(refused)
    kept = made.ops("quarantine")
    assert {row["kind"] for row in kept} <= {"malformed"}
    told = Counter(row["reason"].partition(" of form ")[::2] for row in kept)
    assert sorted(told.values()) == [EACH] * len(refused)
    for reason, of in told:
        assert of == repr(name)
        assert reason.startswith(tuple(f"scheduled_time is {at.year:04d}-" for at in refused))


def test_a_time_that_a_step_has_made_is_looked_for_as_any_failing_expression(delivered, tmp_path):
    step, years = FORMS["pandas"]
    query = Transform(sql="SELECT *, scheduled_time + INTERVAL 0 DAYS AS planned FROM rows")
    made = over(delivered, tmp_path / "root", spec(query, step))
    made.run()
    assert {row["held"].year for row in made.table()} == years
    kept = made.ops("quarantine")
    assert len(kept) == EACH * len(ANY_YEAR - years)
    for row in kept:
        assert row["reason"].startswith("step 2 (group_state): USER_RAISED_EXCEPTION: ")
        assert row["reason"].endswith("of form 'pandas'")


def test_a_group_of_any_year_is_merged_checked_and_shown(delivered, tmp_path):
    """A check that finds Go's zero time has failed, and is not broken."""
    check = Check(
        type="expect_column_values_to_be_between",
        kwargs={"column": "scheduled_time", "min_value": "1900-01-01T00:00:00"},
    )
    step = Aggregate(keys=("scheduled_time",), measures={"n": "count(*)"}, counts="n")
    grouped = spec(step, output_mode="update", output_checks=(check,))
    made = over(delivered, tmp_path / "root", grouped)
    made.change(max_offsets_per_batch=8, output_checks=(check,))
    report = made.drain()
    assert report.problem.code == "CHECK_FAILED", report.problem
    [found] = [each for each in report.checks if each.suite == "output"]
    assert (found.outcome, found.unexpected) == ("failed", 4)
    assert {text[:4] for text in json.loads(found.sample)} == {"0001", "1582", "1600", "1850"}
    found = {row["scheduled_time"]: row["n"] for row in made.table()}
    assert found == dict.fromkeys(FAR.values(), EACH)
    lines = [*state_view(made.spec, made.settings, StateQuery())]
    for at in FAR.values():
        assert any(str(at.replace(tzinfo=None)) in line for line in lines), (at, lines)
    key = (f"scheduled_time={next(iter(FAR))}",)
    assert "0001-01-01 00:00:00" in [*state_view(made.spec, made.settings, StateQuery(key))][-1]


UNTIL = (*FIELDS, Field(name="until", type="timestamp", required=False))
SCHEMA = (
    "partition int, offset bigint, timestamp timestamp, millis bigint, "
    f"raw struct<key: binary, value: binary, headers: {HEADERS}>"
)


def test_a_record_that_a_condition_removes_is_filtered_whatever_its_times(spark):
    """Only a time that would reach the code makes a record malformed. Its bytes are kept."""
    step = group_state(form="pandas", time_mode="none")
    made = pipeline(
        topic=topic(fields=UNTIL),
        steps=(Transform(where="amount > 0"), step),
        watermark_delay=None,
        state=State(budget_rows=10),
    )
    clock_ms = int(NEAR.timestamp()) * 1000

    def given() -> Iterator[tuple[Any, ...]]:
        for offset, (amount, until) in enumerate(
            [
                (1, None),
                (1, "9999-12-31T00:00:00Z"),
                (0, "9999-12-31T00:00:00Z"),
                (1, "2013-01-01T00:00:00Z"),
            ]
        ):
            value = {
                "id": "a",
                "at": NEAR.isoformat(),
                "shop": "b",
                "amount": amount,
                "until": until,
            }
            yield 0, offset, NEAR, clock_ms, (b"key", json.dumps(value).encode(), None)

    rows = spark.createDataFrame([*given()], SCHEMA).select(
        F.struct("partition", "offset", "timestamp", "millis", "raw").alias("kafka")
    )
    capture = CapturePolicy(clock_ms - 3_600_000, BUDGET, clock_ms + 1000)
    settings = Settings("/root", "127.0.0.1:1", Path("/jars"), "local[1]", "1g")
    flow = dataflow(rows, made, settings, {}, capture, clock_ms=clock_ms, observed=False)
    found = flow.classified.select(
        F.col(OUTCOME).alias("fate"), F.col(MALFORMED).alias("malformed"), "at", "kafka.raw.value"
    ).collect()
    assert [row.fate for row in found] == [
        Outcome.GOOD,
        Outcome.MALFORMED,
        Outcome.GOOD,
        Outcome.GOOD,
    ]
    assert found[1].malformed == (
        "until is 9999-12-31 00:00:00: there are times from 1677-09-21 to 2262-04-11 alone for a "
        "GroupState of form 'pandas'"
    )
    assert (found[1].at, found[1].value is None, found[0].value) == (None, False, None)
    assert [row.until for row in flow.stateful_input.select("until").collect()] == [
        None,
        (NEAR - timedelta(hours=10, minutes=15)).replace(tzinfo=None),
    ]
