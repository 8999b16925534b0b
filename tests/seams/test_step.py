"""A step of one's own with state: the spread of a number in each hour, by keys."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar, Literal, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.spec import Pipeline, Tumbling
from spark_jobs.spec.columns import computed
from spark_jobs.spec.steps.step import Balance, Step
from spark_jobs.topics.flights import FLIGHTS
from spark_jobs.values.spans import Position
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.crash import Images, over
from tests.harness.turns import alike
from tests.spark import truth
from tests.spark.operators import ON_TIME, Operator
from tests.spark.test_repair import Repairs

pytestmark = alike("a seam")

NEW_YEAR = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = Tumbling(size="1 hour")
BOUNDS = ("window_start", "window_end")


class Spread(Step):
    """For every hour and combination of keys: how far the least and the largest value are apart."""

    operator: ClassVar = "tests.seams.test_step:SpreadOperator"
    canonical: ClassVar = "tests.seams.test_step:spread"
    kind: Literal["spread"] = "spread"
    stateful: Literal[True] = True
    keys: tuple[str, ...]
    of: str
    evicted_by: ClassVar = "watermark"
    rows_per_record: ClassVar = 1
    remembers: ClassVar = True
    balance: ClassVar = Balance("groups", False, False, False)
    counted_by: ClassVar = "records"
    grouping_window: ClassVar = HOUR
    late_after: ClassVar = HOUR.size
    described = property(lambda self: f"the spread of `{self.of}` an hour")
    grouping_keys = property(lambda self: self.keys)
    row_key = update_key = property(lambda self: (*BOUNDS, *self.keys))

    def state_key(self, columns):
        return self.row_key

    def columns_after(self, columns):
        return (*self.row_key, "records", "spread")

    def types_after(self, types):
        return {name: kind for name, kind in types.items() if name in self.keys}

    def origins_after(self, origins, event_time):
        kept = {name: origins.get(name, ()) for name in self.keys}
        return kept | {"spread": computed([self.of], origins, "aggregation")}

    def time_after(self, event_time):
        return None

    def needed(self, positions, delay, ranges, of_input):
        return HOUR.needed(positions)

    def touched(self, positions, ranges, of_input):
        return HOUR.touched(positions)

    def position_after(self, position, ranges):
        return Position("window_end", "end")


class SpreadOperator(NamedTuple):
    """Spark drops and evicts its groups by the hour's end, as those of an Aggregate."""

    step: Spread

    def apply(self, rows, context):
        return spread(rows, self.step, context)

    def counts(self) -> list[Column]:
        return [F.sum("records").alias("counted")]

    def late_by(self, output_mode):
        return "key"

    def is_late(self, event_time, late_before) -> Column:
        return F.date_trunc("hour", event_time) + F.expr("INTERVAL 1 HOUR") <= late_before

    def row_part(self, rows, at) -> DataFrame:
        return rows.select(*self.step.keys, self.step.of)

    def state(self) -> str:
        return "the key is the hour and the keys; the value the least and the largest"

    def predicates(self) -> str:
        return "watermark predicate on the key"

    def eviction(self, spec) -> str:
        return "evicted when the watermark has passed the hour's end"


def spread(rows: DataFrame, step: Spread, given) -> DataFrame:
    wide = F.max(step.of) - F.min(step.of)
    groups = rows.groupBy(F.window(given.event_time, "1 hour").alias("hour"), *step.keys)
    made = groups.agg(F.count("*").alias("records"), wide.alias("spread"))
    bounds = (F.col(f"hour.{edge}").alias(f"window_{edge}") for edge in ("start", "end"))
    return made.select(*bounds, *step.keys, "records", "spread")


SPEC = Pipeline(
    name="spreads",
    about="Spreads",
    topic=FLIGHTS,
    watermark_delay="2 hours",
    steps=(Spread(keys=("carrier",), of="distance_miles"),),
)
SQL = f"""
    SELECT time_bucket(INTERVAL 1 HOUR, event_time) AS window_start, window_start + INTERVAL 1 HOUR AS window_end,
           carrier, count(*) AS records, max(distance_miles) - min(distance_miles) AS spread
    FROM ({ON_TIME}) GROUP BY window_start, carrier HAVING window_end <= $watermark"""
SPREADS = Operator(SPEC, SQL, until="time_bucket(INTERVAL 1 HOUR, event_time) + INTERVAL 1 HOUR")


def test_a_step_from_outside_is_drained_resumed_repaired_and_verified(scene, tmp_path):
    made = scene(SPEC, "first", events=3000, deliveries=3)
    made.deliver()
    with Images(made, tmp_path / "images", "planned", "table.committed") as images:
        made.run("second")
    truth.hold(made, SPREADS)
    assert len(images.taken) >= 2
    for image in images.taken.values():
        again = over(made, image)
        again.run("resumed")
        truth.hold(again, SPREADS)
    made.deliver()
    made.run("third")
    known = truth.hold(made, SPREADS)
    assert known.rows
    assert known.late
    repaired, _ = Repairs(made).done()
    assert (repaired.change.unexplained, repaired.change.unaccounted) == (0, 0)
    wanted = truth.canonical(SPREADS, made.ledger, known.watermark)
    assert_same(oracle.comparable(made.table()), oracle.comparable(wanted), "the repaired table")
    proof, _ = Repairs(made).done("verify", NEW_YEAR, known.watermark - HOUR.size * 3)
    assert proof.change.differs == 0 < proof.change.rows_after
