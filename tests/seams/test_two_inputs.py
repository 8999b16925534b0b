"""A step of one's own that takes two inputs apart: orders and their payments, by Spark's join."""

import json
from datetime import UTC, datetime, timedelta
from typing import ClassVar, Literal, NamedTuple
from uuid import uuid4

import duckdb
from pyspark.sql import Column, DataFrame, functions as F

from local.broker import create_topic
from spark_jobs.spec import Field, Pipeline, Topic
from spark_jobs.spec.columns import computed
from spark_jobs.spec.steps.step import Balance, Step
from tests.harness.crash import Images, over
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_repair import Repairs

pytestmark = alike("a seam")

NINE, MINUTE, HOUR = datetime(2026, 3, 1, 9, tzinfo=UTC), timedelta(minutes=1), timedelta(hours=1)
COLUMNS = ("order", "at", *(OWN := ("amount", "paid")))
NAMES = [f"{own}-{uuid4().hex[:8]}" for own in OWN]


class Paid(Step):
    """Each order with its payments of the next hour; null where there is none."""

    operator: ClassVar = f"{__name__}:PaidOperator"
    canonical: ClassVar = f"{__name__}:paid"
    kind: Literal["paid"] = "paid"
    stateful: Literal[True] = True
    orders: str
    payments: str
    takes = property(lambda self: (self.orders, self.payments))
    evicted_by: ClassVar = "watermark"
    rows_per_record: ClassVar = 1
    remembers: ClassVar = True
    balance: ClassVar = Balance("rows", False, False, False)
    late_after: ClassVar = timedelta()
    described: ClassVar = "each order with its payments of the next hour"
    grouping_keys: ClassVar = ("order",)

    def state_key(self, columns):
        return ("order",)

    def columns_after(self, columns):
        return COLUMNS

    def types_after(self, types):
        return {name: types[name] for name in COLUMNS}

    def origins_after(self, origins, event_time):
        return {name: computed([name], origins, "transformation") for name in COLUMNS}

    def time_after(self, event_time): ...

    def needed(self, positions, delay, ranges, of_input):
        return positions.widened(timedelta(), HOUR * (of_input == self.payments))

    def touched(self, positions, ranges, of_input):
        return positions.widened(HOUR * (of_input == self.payments), timedelta())

    def settled_after(self, ranges):
        return HOUR


class PaidOperator(NamedTuple):
    step: Paid  # Spark drops late rows of either side

    def apply(self, inputs, context):
        return paid(inputs, self.step, context)

    def counts(self) -> list[Column]:
        return []

    def late_by(self, output_mode):
        return "row"

    def is_late(self, event_time, late_before) -> Column:
        return F.coalesce(F.col(event_time) <= late_before, F.lit(False))

    def row_part(self, rows, at) -> DataFrame:
        return rows.select("order")

    def state(self, *_) -> str:
        return "the rows of each input by the order, until the watermark has passed its hour"

    predicates = eviction = state


def paid(inputs, step: Paid, _) -> DataFrame:
    payments = inputs[step.payments].withColumnsRenamed({"order": "of", "at": "t"})
    within = F.expr("order = of AND t >= at AND t <= at + INTERVAL 1 HOUR")
    return inputs[step.orders].join(payments, within, "left").select(*COLUMNS)


FIRST = [("a", 0, 7), ("b", 5, 8), ("bad", 6, None), ("c", 50, 9)], [("a", 30, 1), ("c", 55, 3)]
SECOND = [("d", 180, 4), ("e", 10, 5)], [("b", 15, 6), ("b", 150, 8), ("d", 190, 9)]
EVERY = [one + two for one, two in zip(FIRST, SECOND, strict=True)]
ON_TIME = [[row for row in rows if row[:2] not in {("e", 10), ("b", 15)}] for rows in EVERY]
OUTCOMES = ("read", "malformed", "late", "accepted", "unaccounted")
ACCOUNTS = [6, 1, 1, 4, 0], [5, 0, 1, 4, 0]
SQL = """WITH o(id, t, v) AS (VALUES {}), p(id, t, v) AS (VALUES {})
    SELECT o.*, p.v FROM o LEFT JOIN p ON p.id = o.id AND p.t BETWEEN o.t AND o.t + 60
    WHERE p.v IS NOT NULL OR o.t + 60 < 150 -- the last watermark"""


def wanted(inputs) -> list[tuple]:
    values = (", ".join(str(row) for row in rows if row[2]) for rows in inputs)
    return sorted(duckdb.sql(SQL.format(*values)).fetchall())


def held(made: Scene) -> list[tuple]:
    rows = ([row[name] for name in COLUMNS] for row in made.table())
    return sorted((order, (at - NINE) // MINUTE, *own) for order, at, *own in rows)


def send(made: Scene, delivery) -> None:
    for made.topic, own, rows in zip(NAMES, OWN, delivery, strict=True):
        sent = [{"order": of, "at": f"{NINE + MINUTE * at}", own: own_} for of, at, own_ in rows]
        made.send(*map(json.dumps, sent))


def test_two_inputs_are_drained_resumed_repaired_and_verified(kafka, tmp_path, spark):
    topics, kinds = [], {"order": "string", "at": "timestamp"}
    for name, own in zip(NAMES, OWN, strict=True):
        fields = (Field(name=each, type=of) for each, of in (kinds | {own: "bigint"}).items())
        topics.append(Topic(name=name, fields=tuple(fields), event_time="at"))
        create_topic(kafka, name, 2)
    own = {"topics": topics, "steps": (Paid(orders=NAMES[0], payments=NAMES[1]),)}
    spec = Pipeline(name="paid_orders", about="Paid", watermark_delay="30 minutes", **own)
    made = Scene(kafka, tmp_path, spec, topic=spec.topic.name, stores=1)
    send(made, FIRST)
    made.run("first")
    send(made, SECOND)
    with Images(made, tmp_path / "images", "planned", "table.committed") as images:
        made.run("second")
    killed = (images.taken[place, 2] for place in ("planned", "table.committed"))
    for each in (*(over(made, image) for image in killed), made):
        each.run("resumed")
        assert held(each) == wanted(ON_TIME)
        of = [json.loads(row["topics"]) for row in each.ops("batches")]
        for name, account in zip(NAMES, ACCOUNTS, strict=True):
            assert [sum(row[name][what] for row in of) for what in OUTCOMES] == account
    repaired, _ = Repairs(made).done()
    assert (repaired.change.unexplained, held(made)) == (0, wanted(EVERY))
    proof, _ = Repairs(made).done("verify", NINE, NINE + HOUR)
    assert proof.change.differs == 0 < proof.change.rows_after
