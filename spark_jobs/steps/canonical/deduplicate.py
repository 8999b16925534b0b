"""Canonical deduplication: what a Deduplicate gives where all records are there at once and none is
late.

Spark refuses dropDuplicatesWithinWatermark in a batch query, and one micro-batch with everything
would keep one row of a key for ever, however far apart in time its copies lie. This is what
docs/repairs.md promises instead.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, Observation, functions as F

from spark_jobs.source.place import PLACE
from spark_jobs.spec import Deduplicate
from spark_jobs.values.own_columns import KAFKA, own

if TYPE_CHECKING:
    from spark_jobs.steps.canonical.chain import Given

_ROW, _COPIES, _FOUND, _COPY = (own(name) for name in ("row", "copies", "found", "copy"))


def all_at_once(rows: DataFrame, step: Deduplicate, given: Given) -> DataFrame:
    """The rows that it keeps, counted where its scope is watermark."""
    seen = Observation() if given.counted is not None and step.scope == "watermark" else None
    if given.counted is not None and seen is not None:
        given.counted[given.at] = seen
    delay = given.spec.watermark_delay or timedelta()
    return canonical(rows, step, given.event_time, delay, arrival(rows), seen)


def canonical(
    rows: DataFrame,
    step: Deduplicate,
    event_time: str,
    delay: timedelta,
    order: Column,
    counted: Observation | None = None,
) -> DataFrame:
    """The rows that a Deduplicate keeps, with all columns that they have.

    Copies that lie within the delay of the kept one are dropped. Of a key's copies that begin
    within the delay of the earliest, the first by `order` is kept; the next that lies more than the
    delay after the kept one begins anew. With scope event_time or for_ever a key has one row, the
    first by `order`.

    `counted` observes, where the scope is watermark: reused_keys bigint, the keys whose copies lie
    farther apart than the delay; ambiguous_copies bigint, those copies for which it depends on
    batches whether a drain drops them (`_fold`).
    """
    keys = [_named(column) for column in _keys(rows, step)]
    row = F.struct(*(_named(column) for column in rows.columns))
    if step.scope != "watermark":
        return rows.groupBy(*keys).agg(F.min_by(row, order).alias(_ROW)).select(f"{_ROW}.*")
    copy = F.struct(F.unix_micros(event_time).alias("at"), order.alias("order"), row.alias("row"))
    found = (
        rows.groupBy(*keys)
        .agg(F.collect_list(copy).alias(_COPIES))
        .select(_fold(F.col(_COPIES), delay // timedelta(microseconds=1)).alias(_FOUND))
    )
    if counted is not None:
        found = found.observe(counted, *_counts())
    return found.select(F.explode(f"{_FOUND}.kept").alias(_COPY)).select(f"{_COPY}.row.*")


def arrival(rows: DataFrame) -> Column:
    """The order in which copies are preferred: those that a drain accepted before those that were
    late (the field late of kafka, if it has one), then by Kafka's timestamp and by place.

    Rows behind an Aggregate or a GroupState are no records: they have the order of their values.
    """
    if KAFKA not in rows.columns:
        return F.to_json(F.struct(*(_named(column) for column in sorted(rows.columns))))
    fields = rows.select(f"{KAFKA}.*").columns
    order = ["late"] if "late" in fields else []
    sent = F.unix_micros(f"{KAFKA}.timestamp")
    if "millis" in fields:  # what is no time is ordered as the number that it is
        sent = F.coalesce(F.col(f"{KAFKA}.millis"), F.unix_millis(f"{KAFKA}.timestamp"))
    places = (f"{KAFKA}.{name}" for name in PLACE if name in fields)
    return F.struct(*(f"{KAFKA}.{name}" for name in order), sent.alias("sent"), *places)


def _keys(rows: DataFrame, step: Deduplicate) -> list[str]:
    if not step.whole_row:
        return list(step.keys)
    return [column for column in rows.columns if column != KAFKA]


def _named(column: str) -> Column:
    return F.col(f"`{column}`")


def _fold(copies: Column, delay_us: int) -> Column:
    """struct<kept array<copy>, ambiguous bigint> of one key's copies.

    By event time: a copy within the delay of the earliest competes with the kept one, and the first
    in order wins. After that one within the delay of the kept one is dropped, and one that is
    farther away begins anew. Ambiguous is a copy that is dropped though it did not compete, and one
    that begins anew within twice the delay of the kept one: a drain may do either, as its batches
    fall.
    """
    alone = F.struct(copies.alias("kept"), F.lit(0).cast("bigint").alias("ambiguous"))
    by_time = F.array_sort(
        copies,
        lambda a, b: F.when(a["at"] < b["at"], -1).when(a["at"] > b["at"], 1).otherwise(0),
    )

    def state(kept: Column, earliest: Column, best: Column, ambiguous: Column) -> Column:
        return F.struct(
            kept.alias("kept"),
            earliest.alias("earliest"),
            best.alias("best"),
            ambiguous.cast("bigint").alias("ambiguous"),
        )

    def after(so_far: Column, copy: Column) -> Column:
        kept, earliest, best, ambiguous = (
            so_far[name] for name in ("kept", "earliest", "best", "ambiguous")
        )
        competes = copy["at"] <= earliest + delay_us
        dropped = copy["at"] <= best["at"] + delay_us
        unclear = F.when(copy["at"] <= best["at"] + 2 * delay_us, 1).otherwise(0)
        first = F.when(copy["order"] < best["order"], copy).otherwise(best)
        return (
            F.when(competes, state(kept, earliest, first, ambiguous))
            .when(dropped, state(kept, earliest, best, ambiguous + 1))
            .otherwise(state(F.concat(kept, F.array(best)), copy["at"], copy, ambiguous + unclear))
        )

    nothing = F.slice(copies, 1, 0)
    first = F.element_at(by_time, 1)
    several = F.aggregate(
        by_time,
        state(nothing, first["at"], first, F.lit(0)),  # the first then competes with itself
        after,
        lambda end: F.struct(
            F.concat(end["kept"], F.array(end["best"])).alias("kept"),
            end["ambiguous"].alias("ambiguous"),
        ),
    )
    return F.when(F.size(copies) == 1, alone).otherwise(several)


def _counts() -> list[Column]:
    reused = (F.size(f"{_FOUND}.kept") > 1) | (F.col(f"{_FOUND}.ambiguous") > 0)
    return [
        F.count_if(reused).alias("reused_keys"),
        F.coalesce(F.sum(f"{_FOUND}.ambiguous"), F.lit(0)).alias("ambiguous_copies"),
    ]
