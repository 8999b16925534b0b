"""Key rows: the rows of keys in a table that follows one, as one computation over all good
records gives them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import reduce
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, Observation, functions as F

from spark_jobs.errors import RangeInvalid
from spark_jobs.launch.few_records import computed_once
from spark_jobs.messages.kind import KINDS
from spark_jobs.repair.compute.change import change, explained, rows_after
from spark_jobs.repair.compute.judging import Compared, Computed, NoRecord, late_places
from spark_jobs.repair.compute.marked import marked as dependents
from spark_jobs.repair.compute.planned import Fetched
from spark_jobs.repair.find.outdated_rows import Outdated
from spark_jobs.repair.manifest import MergedRecord
from spark_jobs.side.port import rows_of
from spark_jobs.source.place import Place
from spark_jobs.source.sources import id_of
from spark_jobs.spec.analysis.looked_up import columns_at, from_rows
from spark_jobs.spec.analysis.ranged import mended
from spark_jobs.spec.sql import SqlText
from spark_jobs.steps.keyed import buckets
from spark_jobs.steps.latest import contents, marked
from spark_jobs.steps.operator import At, operator
from spark_jobs.steps.sql import reason
from spark_jobs.values.own_columns import (
    AT_ELEMENT,
    CONTENTS,
    DELETED,
    DELETED_AT,
    OF_A_KEY,
    OFFSET,
    PARTITION,
    SET,
)
from spark_jobs.values.spans import any_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql import Column

    from spark_jobs.repair.compute.judging import (
        Judging,
    )
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.repair.unit.unit import Unit
    from spark_jobs.values.spans import Span

MOST: Final = 200_000
"""Rows that the driver swaps at a time: it has them in memory."""


class KeyRows:
    """As rows.py has it: the rows of the given keys, or of keys that replayed or excised records
    touch.
    """

    def __init__(self, unit: Unit, judging: Judging) -> None:
        step = judging.spec.keyed
        assert step is not None
        self.way, self.judging, self.plan, self._step = unit.way, judging, judging.plan, step

    def compute(self) -> Computed:
        """Of keys that replayed records touch the table's own rows are changes too: they have all
        else that decides.
        """
        judging, plan, step, spec = self.judging, self.plan, self._step, self.way.spec
        if plan.outdated and from_rows(spec):
            return self._looked_up_again()
        fetched = Fetched.unread()
        read, entered, kept = Observation(), Observation(), Observation()
        good = judging.flow(fetched, read).stateful_input
        rows = F.count(F.lit(1)).alias("rows")
        good = good.observe(entered, rows, rows.alias("used"), late_places(good))
        good = good.observe(kept, rows, late_places(good))
        # Of a given key nobody knows when a batch with its delete was planned: it was after that.
        every = not plan.replays
        since = F.coalesce("kafka.timestamp", F.current_timestamp()) if every else None
        changes = marked(good, step, spec, spec.first_stateful, since)
        # What was observed is complete then, and Kafka is read once.
        changes = computed_once(changes, plan.records_read)
        keys = None if plan.keys else changes.select(*map(_quoted, step.keys)).distinct()
        if plan.outdated:
            keys = computed_once(self._outdated(changes), plan.records_read)
        elif every and not plan.keys:
            excised = judging.excised().stateful_input
            excised = marked(excised, step, spec, spec.first_stateful, since)
            keys = excised.select(*map(_quoted, step.keys)).distinct()
        known = self._live(keys)
        if every:
            changes = changes.where(plan.keys) if keys is None else _of(changes, keys)
            known = known.where(_lost(plan))
        computed = buckets.rows_of_keys(changes, known, step, plan.records_read)
        return Computed(computed, keys, fetched, read, entered, kept, None)

    def _looked_up_again(self) -> Computed:
        """The rows are as they were, but for what they have of the tables beside the stream."""
        judging, spec, step = self.judging, self.way.spec, self._step
        table = judging.table()
        keys = self._dependents(table.where(~F.col(DELETED)))
        live = self._live(keys)
        sides = rows_of(judging.spark, spec, judging.settings, self.plan.inputs)
        again, first = from_rows(spec), len(spec.steps) - 1 - len(from_rows(spec))
        before, after = (columns_at(spec, at) or () for at in (first, len(spec.steps) - 1))
        rows = live.select(
            *map(_quoted, (name for name in live.columns if name in before or name not in after))
        )
        for at, each in enumerate(again, first):
            rows = operator(each).row_part(rows, At(spec, at, spec.inputs.event_time, sides))
        kinds = {each.name: each for each in rows.schema}
        of_row = {
            name: _quoted(name) if name in before else F.when(~F.col(DELETED), _quoted(name))
            for name in after
        }
        placed = {*step.keys, *step.order_by}
        found = contents((kinds[name], of) for name, of in of_row.items() if name not in placed)
        rows = rows.withColumns(
            {CONTENTS: found} | {n: of_row[n] for n in after if n not in before}
        )
        nothing = NoRecord()
        return Computed(rows, keys, Fetched.unread(), nothing, nothing, nothing, None)

    def _outdated(self, changes: DataFrame) -> DataFrame:
        """The keys that have a change, or a row, which depends on a changed row of a table beside
        the stream.
        """
        live = self.judging.table()
        return self._dependents(changes).unionAll(self._dependents(live)).distinct()

    def _dependents(self, rows: DataFrame) -> DataFrame:
        """The keys of those of them that depend on a changed row of a table beside the stream; of
        all where nobody can tell.
        """
        plan, spec, keys = self.plan, self.way.spec, [*map(_quoted, self._step.keys)]
        own = (mended(spec), self.judging.paths, plan.generations, plan.batch, plan.inputs)
        marks = [*Outdated(*own).among(plan.spans)]
        columns = {
            name for step, _ in marks for name in (*step.entering.values(), spec.inputs.event_time)
        }
        if not columns <= {*rows.columns}:
            return rows.select(*keys).distinct()
        found = [dependents(rows, *each).select(*keys) for each in marks]
        return reduce(DataFrame.unionAll, found, rows.limit(0).select(*keys)).distinct()

    def compare(self, computed: Computed) -> Compared:
        paired = change(self.way.spec, self._live(computed.explaining), computed.rows)
        if self._step.forgets_after and not self.plan.replays:
            paired = to_compare(paired, datetime.now(UTC) - self._step.forgets_after)
        return Compared(explained(paired, computed.explaining), None)

    def fates(self, computed: Computed, paired: DataFrame) -> tuple[MergedRecord, ...]:
        """Of each replayed record: it decides a row, is older than what does, or was filtered."""
        plan = self.plan
        if not plan.replays:
            return ()
        after = paired.where("op IS NOT NULL AND after IS NOT NULL").select("after.*")
        parts = [PARTITION, OFFSET, *(n for n in after.columns if n == AT_ELEMENT)]
        places = F.array(F.struct(*parts))
        if SET in after.columns:
            at_field = F.transform(
                F.map_values(SET), lambda at: F.struct(*(at[name] for name in parts))
            )
            places = F.concat(places, at_field)
        deciding = {Place(*place) for (place,) in after.select(F.explode(places)).collect()}
        entered = {Place(*place) for place in computed.entered.get["late"]}

        def fate(place: Place) -> str:
            if place in deciding:
                return "merged"
            return "superseded" if place in entered else "filtered"

        return tuple(
            MergedRecord(
                topic_id=id_of(plan.topic_id, each.partition),
                partition=each.partition,
                offset=each.offset,
                element=each.place.number,
                source="quarantine",
                fate=fate(each.place),
                event_time=each.event_time,
            )
            for each in plan.replays
        )

    def hour(self) -> Column:
        return F.lit(None).cast("timestamp")

    def differing(self, hours: Collection[datetime], rows: int) -> tuple[Span, ...]:  # noqa: ARG002 - a row has none
        """All of the table, or none of it. Raises RangeInvalid for more than the driver swaps."""
        if KINDS[self.plan.kind].swaps and rows > MOST:
            raise RangeInvalid.too_many_rows(pipeline=self.plan.pipeline, rows=rows, most=MOST)
        return self.plan.spans if rows else ()

    def write(self, compared: Compared, parts: tuple[Span, ...]) -> None:
        """Nothing more: what changes is all that a swap needs."""

    def after(self, paired: DataFrame) -> DataFrame:
        """As consumers see them."""
        return rows_after(paired, "true").where(~F.col(DELETED)).drop(*OF_A_KEY)

    proved: None = None

    def _live(self, keys: DataFrame | None) -> DataFrame:
        """The table's rows of these keys, or of the given ones, at the plan's version. Raises
        RangeInvalid for a condition that reaches more than the key.
        """
        spark, plan, columns = self.judging.spark, self.plan, self._step.keys
        rows = self.judging.table()
        if keys is not None:
            return _of(rows, keys)
        if why := reason(spark, SqlText("keys", plan.keys, query=False), columns):
            raise RangeInvalid.keys_refused(pipeline=plan.pipeline, why=why)
        rows.select(*map(_quoted, columns)).where(plan.keys)
        return rows.where(plan.keys)


def _of(rows: DataFrame, keys: DataFrame) -> DataFrame:
    found = rows.join(keys, keys.columns, "left_semi")
    return found.select(*map(_quoted, rows.columns))


def to_compare(paired: DataFrame, before: datetime) -> DataFrame:
    """Without the deletes from before this time: the table may have forgotten them."""
    after = F.col("after")
    forgotten = F.col("before").isNull() & after[DELETED] & (after[DELETED_AT] < F.lit(before))
    return paired.where(~F.coalesce(forgotten, F.lit(False)))


def _lost(plan: RepairPlan) -> str:
    lost = any_of(
        f"({PARTITION} = {partition} AND {OFFSET} >= {first} AND {OFFSET} < {stop})"
        for partition, ranges in plan.lost.items()
        for first, stop in ranges
    )
    return lost or "false"


def _quoted(name: str) -> Column:
    return F.col(f"`{name}`")
