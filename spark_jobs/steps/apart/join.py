"""Join in Spark: a left outer join of two streams, each with a watermark, behind the Deduplicate of
a side. An inner one leaves out what found nothing: so the rows that wait are those of a left one,
and can be counted.
"""

from __future__ import annotations

from datetime import timedelta
from functools import reduce
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.spec.inputs import COLUMN
from spark_jobs.spec.steps.join import SEEN
from spark_jobs.steps.beside.matched import count_name
from spark_jobs.steps.canonical.deduplicate import arrival, canonical
from spark_jobs.steps.operator import At, LateBy, StepContext, operator
from spark_jobs.values.own_columns import KAFKA, own

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spark_jobs.spec import Join, Pipeline
    from spark_jobs.spec.output_mode import OutputMode
    from spark_jobs.steps.canonical.chain import Given

JOINED_SEEN: Final = "joined"
"""Under it what leaves a left outer join is observed: `rows`."""


class JoinOperator(NamedTuple):
    """Spark drops late rows of either side (StreamingSymmetricHashJoinExec), or the Deduplicate
    does. Both go by the same watermark.
    """

    step: Join

    def apply(self, inputs: Mapping[str, DataFrame], context: StepContext) -> DataFrame:
        """The pairs, and the left rows without one if they leave."""
        step, count = self.step, F.count(F.lit(1)).alias("rows")
        left, right = (
            self._once(inputs[name], name, context).observe(seen, count)
            for name, seen in zip(step.takes, SEEN, strict=True)
        )
        joined = outer_joined(left, right, step)
        return output(joined.observe(JOINED_SEEN, count), step)

    def _once(self, rows: DataFrame, name: str, context: StepContext) -> DataFrame:
        steps = self.step.before.get(name, ())
        return reduce(lambda so_far, each: operator(each).apply(so_far, context), steps, rows)

    def counts(self) -> list[Column]:
        if not self.step.unmatched_leave:
            return []
        return [F.count_if(_is_alone(self.step)).alias(count_name("", self.step.right))]

    def late_by(self, _: OutputMode) -> LateBy:
        return "row"

    def is_late(self, event_time: str, late_before: Column) -> Column:
        """As of a Deduplicate."""
        return F.col(event_time) <= late_before

    def row_part(self, rows: DataFrame, _: At) -> DataFrame:
        """The left names of the key."""
        is_right = F.col(COLUMN) == self.step.right
        keys = self.step.on.items()
        return rows.select(
            *(F.when(is_right, _col(new)).otherwise(_col(old)).alias(old) for old, new in keys)
        )

    def state(self) -> str:
        return f"the rows of each topic, by {', '.join(self.step.on)}"

    def predicates(self) -> str:
        return "watermark predicates on the event time of each topic's rows"

    def eviction(self, _: Pipeline) -> str:
        return "evicted when the watermark has passed the end of its range"


def all_at_once(inputs: Mapping[str, DataFrame], step: Join, given: Given) -> DataFrame:
    """What its operator gives where all records are there: each side without copies, joined."""
    delay = given.spec.watermark_delay or timedelta()

    def once(name: str) -> DataFrame:
        rows = inputs[name]
        for each in step.before.get(name, ()):
            rows = canonical(rows, each, given.event_time, delay, arrival(rows))
        return rows.drop(KAFKA)

    left, right = map(once, step.takes)
    return output(outer_joined(left, right, step), step)


def outer_joined(left: DataFrame, right: DataFrame, step: Join) -> DataFrame:
    """Each left row with each right one that it finds, and alone if it finds none. Columns: the
    left ones, `step.found`, and the right keys by names of their own.
    """
    keys = {new: own(f"on_{number}") for number, (_, new) in enumerate(sorted(step.on.items()))}
    names = step.found | keys
    renamed = right.select(*(_col(old).alias(new) for old, new in names.items()))
    equal = (_col(old) == _col(keys[new]) for old, new in sorted(step.on.items()))
    begin, end = map(_interval, step.within)
    at, found = (f"`{time}`" for time in step.times)
    within = F.expr(f"{found} >= {at} + {begin} AND {found} <= {at} + {end}")
    return left.join(renamed, reduce(Column.__and__, equal, within), "left")


def output(joined: DataFrame, step: Join) -> DataFrame:
    """What leaves of outer_joined."""
    if not step.unmatched_leave:
        joined = joined.where(~_is_alone(step))
    return joined.select(*[_col(name) for name in step.columns])


def _is_alone(step: Join) -> Column:
    """Whether a left row found none: each right row has an event time."""
    return _col(step.times[1]).isNull()


def _col(name: str) -> Column:
    return F.col(f"`{name}`")


def _interval(duration: timedelta) -> str:
    seconds, milliseconds = divmod(abs(duration) // timedelta(milliseconds=1), 1000)
    sign = "-" if duration < timedelta() else ""
    return f"INTERVAL '{sign}{seconds}.{milliseconds:03}' SECOND"
