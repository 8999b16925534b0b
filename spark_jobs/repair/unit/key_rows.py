"""Key rows: the rows of keys in a table that follows one, as one computation over all good
records gives them.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column, DataFrame, Observation, functions as F

from spark_jobs.errors import RangeInvalid
from spark_jobs.launch.few_records import computed_once
from spark_jobs.messages.kind import KINDS
from spark_jobs.repair.compute.change import change, explained, rows_after
from spark_jobs.repair.compute.judging import Compared, Computed, Fetched, Judging, late_places
from spark_jobs.repair.manifest import MergedRecord
from spark_jobs.source.sources import id_of
from spark_jobs.spec.sql import SqlText
from spark_jobs.steps.keyed import buckets
from spark_jobs.steps.latest import marked
from spark_jobs.steps.sql import reason
from spark_jobs.values.own_columns import DELETED, DELETED_AT, OF_A_KEY, OFFSET, PARTITION, SET
from spark_jobs.values.spans import any_of

if TYPE_CHECKING:
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
        fetched = Fetched.unread()
        read, entered, kept = Observation(), Observation(), Observation()
        good = judging.flow(fetched, read).stateful_input
        rows = F.count(F.lit(1)).alias("rows")
        good = good.observe(entered, rows, rows.alias("used"), late_places())
        good = good.observe(kept, rows, late_places())
        # Of a given key nobody knows when a batch with its delete was planned: it was after that.
        since = None if plan.replays else F.coalesce("kafka.timestamp", F.current_timestamp())
        changes = marked(good, step, spec, spec.first_stateful, since)
        # What was observed is complete then, and Kafka is read once.
        changes = computed_once(changes, plan.records_read)
        touching = changes
        if not (plan.replays or plan.keys):
            excised = judging.excised().stateful_input
            touching = marked(excised, step, spec, spec.first_stateful, since)
        keys = None if plan.keys else touching.select(*map(_quoted, step.keys)).distinct()
        known = self._live(keys)
        if not plan.replays:
            changes = changes.where(plan.keys) if keys is None else _of(changes, keys)
            known = known.where(_lost(plan))
        computed = buckets.rows_of_keys(changes, known, step, plan.records_read)
        return Computed(computed, keys, fetched, read, entered, kept, None)

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
        places = F.array(F.struct(PARTITION, OFFSET))
        if SET in after.columns:
            at_field = F.transform(
                F.map_values(SET), lambda at: F.struct(at[PARTITION], at[OFFSET])
            )
            places = F.concat(places, at_field)
        deciding = {(place[0], place[1]) for (place,) in after.select(F.explode(places)).collect()}
        entered = {(at["partition"], at["offset"]) for at in computed.entered.get["late"]}

        def fate(place: tuple[int, int]) -> str:
            if place in deciding:
                return "merged"
            return "superseded" if place in entered else "filtered"

        return tuple(
            MergedRecord(
                topic_id=id_of(plan.topic_id, each.partition),
                partition=each.partition,
                offset=each.offset,
                source="quarantine",
                fate=fate((each.partition, each.offset)),
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
