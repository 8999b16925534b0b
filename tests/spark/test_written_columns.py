"""Every declared column of an ops table is written: by one scenario, or by the test that is named."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from local import broker
from spark_jobs.messages.report import Report, parse_report
from spark_jobs.ops.schema import COLUMNS, OPERATOR, RANGE
from spark_jobs.repair.find.plan import digest
from spark_jobs.repair.manifest import approve
from spark_jobs.spec import (
    Aggregate,
    Check,
    Deduplicate,
    Field,
    Pipeline,
    Ranges,
    Rule,
    Topic,
    Tumbling,
)
from tests.harness.scene import Scene
from tests.spark.test_repair import Repairs

START = datetime(2025, 11, 25, tzinfo=UTC)
IN_2300_MS = 10_413_792_000_000
AMOUNT = Field(name="amount", type="bigint")
TOPIC = Topic(
    name="orders",
    event_time="at",
    fields=(
        Field(name="id", type="string"),
        Field(name="at", type="timestamp"),
        Field(name="trace", type="string", part="header", required=False),
        AMOUNT,
    ),
    rules=(Rule(name="negative", sql="amount < 0", on_failure="warn"),),
)
SPEC = Pipeline(
    name="written_columns",
    about="Amounts by hour, each order once.",
    topic=TOPIC,
    watermark_delay="1 hour",
    ranges=Ranges(approve="always"),
    steps=(
        Deduplicate(keys=("id",)),
        Aggregate(
            window=Tumbling(size="1 hour"),
            counts="n",
            measures={"n": "count(*)", "amount": "sum(amount)"},
        ),
    ),
    output_checks=(
        Check(
            type="expect_column_values_to_be_between",
            kwargs={"column": "amount", "max_value": 0},
            severity="warning",
            about="every row fails it, so that it has a sample",
        ),
    ),
)
ELSEWHERE = {
    "batches.operators.timers_fired": "spark/test_clock.py",
    "batches.operators.numRegisteredTimers": "spark/test_clock.py",
    "batches.operators.numDeletedTimers": "spark/test_clock.py",
    "batches.operators.numValuesRemovedDueToTTLExpiry": "spark/test_clock.py",
    "batches.schemas": "spark/test_equal_tables.py",
    "batches.topics": "spark/test_several_topics.py",
    "batches.unmatched": "spark/test_shop.py",
    "late.element": "spark/test_each.py",
    "late.kafka_millis": "spark/test_kafka_times.py",
    "quarantine.element": "spark/test_each.py",
    "quarantine.left_out": "unit/test_rejected_store.py",
    "merged.element": "spark/test_each.py",
    "merged.taken_out_by": "unit/test_bad_rows.py",
    "repairs.inputs": "seams/test_side.py",
} | {f"outdated.{column.name}": "unit/test_outdated.py" for column in COLUMNS["outdated"]}
"""Columns that stay null here -> the test in which they have a value: they need timers and a TTL;
a schema registry; several topics; a Lookup; a late record whose Kafka timestamp is no time; more bytes than a batch may keep; a
replay whose record a later repair finds bad; a table beside the stream.
"""
ROWS = COLUMNS | {"batches.operators": OPERATOR, "repairs.ranges": RANGE}
"""The columns of tables, and of structs in them."""


class Orders:
    """Orders of a topic with one partition."""

    def __init__(self, made: Scene) -> None:
        self.made = made
        broker.create_topic(made.kafka, made.topic, 1)

    def send(self, *orders: tuple[str, float, str], **where: Any) -> None:
        """The id, the hour after START, and the amount as it is in the JSON; "" for none."""
        for order, hour, amount in orders:
            at = (START + timedelta(hours=hour)).isoformat()
            last = f', "amount": {amount}' if amount else ""
            self.made.send(f'{{"id": "{order}", "at": "{at}"{last}}}', key=order, **where)


@pytest.fixture(scope="module")
def made(kafka, tmp_path_factory) -> Scene:
    """Two drains, a verify that fails, a repair with a person's approval, and a replay."""
    made = Scene(kafka, tmp_path_factory.mktemp("orders"), SPEC, stores=1, checked=True)
    orders, work = Orders(made), Repairs(made)
    orders.send(*((str(n), n / 4, "1") for n in range(32)), ("1", 0.25, "1"), ("2", 1.75, "1"))
    orders.send(("early", 1e6, "1"))
    orders.send(("no amount", 1, ""), timestamp=IN_2300_MS)
    made.run("drain-0")
    orders.send(("late", 0.5, "1"), ("40", 9, "1"))
    made.run("drain-1")
    verified = work.stage(work.plan("verify", START, START + timedelta(hours=2)))
    assert verified.status == "failed"
    swapped(work, "repair")
    optional = AMOUNT.model_copy(update={"required": False})
    made.change(topic=made.spec.topic.model_copy(update={"fields": (*TOPIC.fields[:-1], optional)}))
    swapped(work, "replay")
    return made


def swapped(work: Repairs, kind: str) -> Report:
    report = work.stage(plan := work.plan(kind))
    assert report.problem is None, report.problem
    approve(work.made.paths, plan.repair_id, "ana")
    work.swap(plan)
    return report


def test_no_declared_column_is_null_in_every_row_but_for_those_that_are_named(made):
    found = {table: made.ops(table) for table in COLUMNS}
    found["batches.operators"] = inner(found["batches"], "operators")
    found["repairs.ranges"] = inner(found["repairs"], "ranges")
    never = {
        f"{table}.{column.name}"
        for table, columns in ROWS.items()
        for column in columns
        if all(row[column.name] is None for row in found[table])
    }
    assert sorted(never) == sorted(ELSEWHERE)
    for column, test in ELSEWHERE.items():
        text = (Path(__file__).parent.parent / test).read_text()
        assert column.split(".")[-1] in text, f"{test} has nothing of {column}"


def test_a_repair_s_row_says_of_which_spec_and_run_it_is_and_what_is_unclear_in_it(made):
    [row] = [each for each in made.ops("repairs") if each["kind"] == "repair"]
    before = made.spec.model_copy(
        update={"topic": made.spec.topic.model_copy(update={"fields": TOPIC.fields})}
    )
    assert row["spec_digest"] == digest(before) != digest(made.spec)
    # Order 2 at 0:30 and at 1:45: more than the delay of an hour apart, and less than twice.
    assert (row["reused_keys"], row["ambiguous_copies"]) == (1, 1)
    report = parse_report(row["report"], "ops.repairs")
    assert (report.repair_id, report.account.read) == (row["repair_id"], row["read"])
    assert [(each.sample, each.observed) for each in report.checks] == [("", "")] * len(
        report.checks
    )


def inner(rows: Iterable[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    return [each for row in rows for each in row[column] or ()]
