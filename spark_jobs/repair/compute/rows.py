"""Compute: the rows of a plan's ranges, as one computation over all good records gives them, none
of them late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as F

from spark_jobs.analysis.rounding import output_key
from spark_jobs.audit.second_read import rejected_columns
from spark_jobs.checkpoint.notes.failing import Reasons, read_failing
from spark_jobs.classify.classifier import has_outcome
from spark_jobs.classify.outcome import QUARANTINED
from spark_jobs.dataflow import Dataflow, dataflow
from spark_jobs.launch.few_records import computed_once
from spark_jobs.repair.compute.records import Fetched, records
from spark_jobs.repair.compute.replay import replay
from spark_jobs.spans.position import Position
from spark_jobs.steps.canonical.chain import (
    Counted,
    Given,
    canonical_output,
    next_group_state,
    of_step,
)

if TYPE_CHECKING:
    from spark_jobs.analysis.ranged import Ranged
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.root.paths import Paths
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline


class Computed(NamedTuple):
    """The rows, and what is observed while they are computed."""

    rows: DataFrame
    """The rows of the ranges, with the columns of the output and of steps/canonical/rounding.py; of
    sessions all that the records give.
    """
    explaining: DataFrame | None
    """The groups or keys that the late records are in, or their rows where there are none: columns
    of the table's names. None where the output's rows do not have them.
    """
    fetched: Fetched
    read: Observation
    """outcome_counts of the records (classify/classifier.py)."""
    entered: Observation
    """Records that reach the first stateful step: rows, and used (with a needed event time) bigint;
    late, and replayed ones, array<struct<partition, offset>>.
    """
    kept: Observation
    """Records behind the first step, if it is a Deduplicate: rows bigint, late as above."""
    copies: Observation | None
    """reused_keys and ambiguous_copies of that Deduplicate (steps/canonical/deduplicate.py)."""
    bad: Callable[[], DataFrame]
    """The malformed and premature records, with the columns of RejectedRecord: read again."""
    clock_ms: int
    """By which they are premature, in milliseconds since the epoch."""


class Judging(NamedTuple):
    """The records of a plan, classified by one clock."""

    spark: SparkSession
    spec: Pipeline
    settings: Settings
    paths: Paths
    plan: RepairPlan
    clock_ms: int
    failing: Reasons
    in_jvm: bool
    """As decode/decoder.py has it."""

    @classmethod
    def now(
        cls,
        spark: SparkSession,
        spec: Pipeline,
        settings: Settings,
        paths: Paths,
        plan: RepairPlan,
        *,
        in_jvm: bool,
    ) -> Judging:
        clock_ms = int(datetime.now(UTC).timestamp() * 1000)
        failing = known_failing(paths, plan)
        return cls(spark, spec, settings, paths, plan, clock_ms, failing, in_jvm)

    def flow(self, fetched: Fetched, counts: Observation | None = None) -> Dataflow:
        spark, spec, settings, paths, plan, clock_ms, failing, in_jvm = self
        given = records(spark, spec, settings, paths, plan, fetched)
        return dataflow(
            given,
            spec,
            settings,
            plan.inputs,
            clock_ms=clock_ms,
            failing=failing,
            counts=counts,
            in_jvm=in_jvm,
        )

    def bad(self) -> DataFrame:
        """See Computed. By Python, which alone says the reasons."""
        unseen = Fetched.unread()
        found = self._replace(in_jvm=False).flow(unseen).classified.where(has_outcome(QUARANTINED))
        return found.select(*rejected_columns(self.spec.topic))


def compute(way: Ranged, judging: Judging) -> Computed:
    """Behind the records themselves Spark runs nothing before the rows are used, but for a
    GroupState's own queries.

    The caller releases what is computed once (launch/few_records.py).
    """
    spark, spec, _, paths, plan, *_ = judging
    fetched = Fetched.unread()
    read, entered, kept = Observation(), Observation(), Observation()
    flow = judging.flow(fetched, read)
    good, sides = flow.stateful_input, flow.sides
    needed = F.expr(Position(spec.topic.event_time).sql(plan.needed))
    used = good.observe(
        entered, F.count(F.lit(1)).alias("rows"), F.count_if(needed).alias("used"), late_places()
    ).where(needed)
    first, copies = spec.first_stateful, Counted()
    if spec.entry and spec.entry.keeps_rows:
        entering = Given(spec, first, spec.topic.event_time, sides, copies, moved=False)
        used = of_step(used, spec.entry, entering)
        first += 1
    used = used.observe(kept, F.count(F.lit(1)).alias("rows"), late_places())
    # What was observed is complete then, and Kafka is read once.
    used = computed_once(used, plan.records_read)
    within = F.expr(way.position.sql(plan.spans))

    def output(rows: DataFrame) -> DataFrame:
        until = next_group_state(spec, first)
        rows = canonical_output(rows, spec, sides, first, until, moved=True)
        if until < len(spec.steps):
            folder = paths.staging(plan.repair_id) / "replay"
            # Timers fire until nothing within the ranges can be open any more.
            end = plan.spans[-1].end + spec.ranges.settle
            rows = replay(spark, spec, rows, sides, until, paths.root, folder, end, moved=True)
        return rows if way.sessions else rows.where(within)

    return Computed(
        output(used),
        _explaining(used.where("kafka.late"), way, sides, first),
        fetched,
        read,
        entered,
        kept,
        copies.get(spec.first_stateful),
        judging.bad,
        judging.clock_ms,
    )


def _explaining(
    late: DataFrame, way: Ranged, sides: Mapping[str, DataFrame], first: int
) -> DataFrame | None:
    spec = _unfiltered(way.spec, first)
    # What takes inputs apart makes nothing of the late records of one of them alone.
    steps = enumerate(spec.steps)
    until = next(
        (at for at, of in steps if at >= first and (of.by_code or of.takes)), len(spec.steps)
    )
    rows = canonical_output(late, spec, sides, first, until)
    if until == len(spec.steps):
        keys = output_key(spec)
        return rows.select(*keys) if keys else rows
    step = spec.steps[until]
    keys = step.grouping_keys or ()
    if until + 1 < len(spec.steps) or not {*keys} <= {*(step.columns_after(None) or ())}:
        return None
    return rows.select(*keys)


def _unfiltered(spec: Pipeline, first: int) -> Pipeline:
    """A group that passes a condition may not pass it with its late records alone."""
    kept = (step for step in spec.steps[first:] if step.condition is None)
    return spec.model_copy(update={"steps": (*spec.steps[:first], *kept)})


def known_failing(paths: Paths, plan: RepairPlan) -> Reasons:
    """The records on which drains saw an expression fail, or that a person has put aside, without
    those that a replay brings: their expression has been corrected."""
    known = read_failing(paths.failing).in_repairs
    return {
        (partition, offset): why
        for (partition, offset), why in known.items()
        if offset not in plan.quarantined.get(partition, ())
    }


def late_places() -> Column:
    """The places of late and replayed records: array<struct<partition, offset>>."""
    place = F.struct("kafka.partition", "kafka.offset")
    return F.collect_list(F.when(F.col("kafka.late"), place)).alias("late")
