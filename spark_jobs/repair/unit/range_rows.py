"""Range rows: the rows of ranges, as one computation over all good records gives them, none of them
late.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, Final, Literal

from pyspark.sql import DataFrame, Observation, functions as F

from spark_jobs.launch.few_records import computed_once
from spark_jobs.messages.kind import KINDS
from spark_jobs.repair.compute.change import change, explained, rows_after
from spark_jobs.repair.compute.judging import Compared, Computed, late_places
from spark_jobs.repair.compute.marked import marked
from spark_jobs.repair.compute.planned import Fetched
from spark_jobs.repair.compute.replay import replay
from spark_jobs.repair.compute.staged import differing, hour, write_rows
from spark_jobs.repair.find.late import LateSpans
from spark_jobs.repair.find.outdated_rows import Outdated
from spark_jobs.repair.manifest import MergedRecord
from spark_jobs.source.place import Place
from spark_jobs.source.sources import id_of
from spark_jobs.spec.analysis.looked_up import carried, telling
from spark_jobs.spec.analysis.rounding import output_key
from spark_jobs.steps.canonical.chain import (
    Counted,
    Given,
    canonical_output,
    event_time,
    next_group_state,
    of_step,
)
from spark_jobs.steps.operator import At, operator
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import own
from spark_jobs.values.spans import Position, Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import datetime

    from pyspark.sql import Column

    from spark_jobs.repair.compute.judging import Judging
    from spark_jobs.repair.find.late import LateRecord
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.repair.find.quarantine import Replayable
    from spark_jobs.repair.unit.unit import Unit
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.analysis.ranged import Ranged

AT: Final = own("at")
Places = set[Place]


class RangeRows:
    """As rows.py has it."""

    def __init__(self, unit: Unit, judging: Judging) -> None:
        self.way, self.judging, self.plan = unit.way, judging, judging.plan
        self._replaced = unit.around(judging.plan.spans)
        self._has_excised = False

    def compute(self) -> Computed:
        """Behind the records themselves Spark runs nothing before the rows are used, but for a
        GroupState's own queries.
        """
        spec, plan = self.way.spec, self.plan
        fetched = Fetched.unread()
        read, entered, kept = Observation(), Observation(), Observation()
        flow = self.judging.flow(fetched, read)
        good, sides = flow.stateful_input, flow.sides
        needed = F.expr(plan.needs(spec.inputs.event_time, "kafka.partition"))
        count = F.count(F.lit(1)).alias("rows")
        used = good.observe(entered, count, F.count_if(needed).alias("used"), late_places(good))
        used = used.where(needed)
        first, copies = spec.first_stateful, Counted()
        if spec.entry and spec.entry.keeps_rows:
            entering = Given(spec, first, spec.inputs.event_time, sides, copies, moved=False)
            used = of_step(used, spec.entry, entering)
            first += 1
        used = used.observe(kept, count, late_places(used))
        # What was observed is complete then, and Kafka is read once.
        used = computed_once(used, plan.records_read)
        explaining = _explaining(self._explains(used), spec, sides, first)
        copied = copies.get(spec.first_stateful)
        rows = self._placed(self._output(used, sides, first))
        of = self.judging.failing
        excised = of.most(spread=spec.inputs.spread) if self._has_excised else 0
        return Computed(rows, explaining, fetched, read, entered, kept, copied, excised)

    def compare(self, computed: Computed) -> Compared:
        plan, table = self.plan, table_of(self.judging.paths)
        live = table.within(self.judging.spark, plan.table_version, self.way.position, plan.spans)
        paired = change(self.way.spec, live, computed.rows)
        if plan.current:
            return Compared(self._explained_by_place(paired), None)
        return Compared(explained(paired, computed.explaining), None)

    def fates(self, computed: Computed, paired: DataFrame) -> tuple[MergedRecord, ...]:  # noqa: ARG002 - other units need the rows
        plan, paths = self.plan, self.judging.paths
        late = LateSpans(self.way, paths, plan.generations, plan.batch).computed(plan.spans)
        if plan.current:  # the late ones are read among all others
            every = {each.place for each in late}
            return fates(self.way, plan, late, every, every)
        entered, kept = (places(seen.get["late"]) for seen in (computed.entered, computed.kept))
        return fates(self.way, plan, late, entered, kept)

    def hour(self) -> Column:
        return hour(self.way.position)

    def differing(self, hours: Collection[datetime], rows: int) -> tuple[Span, ...]:  # noqa: ARG002 - as above
        return differing(hours, self._replaced)

    def write(self, compared: Compared, parts: tuple[Span, ...]) -> None:
        folder = self.judging.paths.staging(self.plan.repair_id)
        write_rows(compared.paired, self.way.position, parts, folder, compared.carried)

    def after(self, paired: DataFrame) -> DataFrame:
        return rows_after(paired, self.way.position.sql(self.plan.spans))

    @property
    def proved(self) -> Span | None:
        whole = Span(self.plan.spans[0].start, self.plan.spans[-1].end)
        return None if KINDS[self.plan.kind].swaps else whole

    def _explained_by_place(self, paired: DataFrame) -> DataFrame:
        """As `explained`: a row is that lies where a late record or a change of the input touches
        rows. One that goes may have no record left that could tell.
        """
        plan, way = self.plan, self.way
        of = (way, self.judging.paths, plan.generations, plan.batch)
        bound = Span(plan.spans[0].start, plan.spans[-1].end)
        found = Outdated(*of, plan.inputs).ranges(plan.until, bound)
        found += LateSpans(*of).ranges(plan.until, bound)
        if not found:
            return paired.withColumn("explained", F.lit(False))
        at = F.coalesce("after", "before")[way.position.column]
        within = Position(AT, way.position.edge).sql(each.span for each in found)
        told = paired.withColumn(AT, at).withColumn("explained", F.expr(within))
        return told.withColumn("explained", F.coalesce("explained", F.lit(False))).drop(AT)

    @property
    def _within(self) -> Column:
        return F.expr(self.way.position.sql(self.plan.spans))

    def _explains(self, used: DataFrame) -> DataFrame:
        """The records that explain changes: late ones, those that depend on a changed row of a
        table beside the stream, and excised ones.
        """
        plan, late = self.plan, used.where("kafka.late")
        own = (self.way, self.judging.paths, plan.generations, plan.batch, plan.inputs)
        outdated = Outdated(*own)
        found = [marked(used, *each) for each in outdated.among(plan.spans)]
        self._has_excised = outdated.excised(plan.spans)
        if self._has_excised:
            found.append(self.judging.excised().stateful_input.select(*used.columns))
        return reduce(DataFrame.unionAll, found, late)

    def _placed(self, rows: DataFrame) -> DataFrame:
        """Of all computed rows those of the unit."""
        return rows.where(self._within)

    def _output(self, rows: DataFrame, sides: Mapping[str, DataFrame], first: int) -> DataFrame:
        spark, spec, _, paths, plan, *_ = self.judging
        until = next_group_state(spec, first)
        rows = canonical_output(rows, spec, sides, first, until, moved=True)
        if until == len(spec.steps):
            return rows
        # Timers fire until nothing within the ranges can be open any more.
        end, folder = plan.spans[-1].end + spec.ranges.settle, paths.staging(plan.repair_id)
        folder /= "replay"
        return replay(spark, spec, rows, sides, until, paths.root, folder, end, moved=True)


def _explaining(
    late: DataFrame, spec: Pipeline, sides: Mapping[str, DataFrame], first: int
) -> DataFrame | None:
    # A group that passes a condition may not pass it with its late records alone.
    kept = (step for step in spec.steps[first:] if step.condition is None)
    spec = spec.model_copy(update={"steps": (*spec.steps[:first], *kept)})
    # What takes inputs apart makes nothing of the late records of one of them alone.
    steps = enumerate(spec.steps)
    until = next(
        (at for at, of in steps if at >= first and (of.by_code or of.takes)), len(spec.steps)
    )
    rows = canonical_output(late, spec, sides, first, until)
    if until == len(spec.steps):
        keys = telling(spec) if spec.sides else output_key(spec)
        return rows.select(*keys) if keys else None if spec.sides else rows
    step = spec.steps[until]
    if step.takes:
        rows = operator(step).row_part(rows, At(spec, until, event_time(spec, until), sides))
    keys = step.grouping_keys or ()
    found = carried(spec.steps[until + 1 :], keys)
    if {*found.values()} != {*keys} or not {*keys} <= {*(step.columns_after(None) or ())}:
        return None
    return rows.select(*(F.col(key).alias(name) for name, key in found.items()))


def places(observed: Iterable[Any]) -> Places:
    """Of late_places."""
    return {Place(*place) for place in observed}


def fates(
    way: Ranged, plan: RepairPlan, late: Iterable[LateRecord], entered: Places, kept: Places
) -> tuple[MergedRecord, ...]:
    """What became of each late record, and of each that a replay brings, all of whose rows are
    computed: merged, duplicate or filtered.

    A record in several sliding windows waits until a repair has computed all that it lacks in.
    """

    def of(
        source: Literal["late", "quarantine"], records: Iterable[LateRecord | Replayable]
    ) -> Iterator[MergedRecord]:
        for record in records:
            place = record.place
            touched = way.touched(record.event_time, record.missed, place.partition)
            rows = way.rows_of(touched)
            if any(s.start <= rows.start and rows.end <= s.end for s in plan.spans):
                left_out = "duplicate" if place in entered else "filtered"
                yield MergedRecord(
                    topic_id=id_of(plan.topic_id, place.partition),
                    partition=place.partition,
                    offset=place.offset,
                    element=place.number,
                    source=source,
                    fate="merged" if place in kept else left_out,
                    position=touched.start,
                    event_time=record.event_time,
                )

    return (*of("late", late), *of("quarantine", plan.replays))
