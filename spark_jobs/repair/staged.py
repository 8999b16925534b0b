"""Staged: the rows of a repair beside the table, and which parts of its ranges they change."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, functions as F

from spark_jobs.contract.position import Position
from spark_jobs.contract.span import Span, joined
from spark_jobs.contract.store import spark_url
from spark_jobs.repair.change import rows_after

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upath import UPath

MOST_UNITS = 2_000
"""Differing hours up to which the swap replaces hours; days, if there are more."""


def write_changes(paired: DataFrame, folder: UPath) -> None:
    """The Delta table changes/: op, before, after and explained of each row that differs."""
    rows = paired.where("op IS NOT NULL").select("op", "before", "after", "explained")
    rows.write.format("delta").mode("overwrite").save(spark_url(folder / "changes"))


def write_rows(
    paired: DataFrame,
    position: Position,
    differing: Sequence[Span],
    folder: UPath,
    carried: DataFrame | None = None,
) -> None:
    """The Delta table rows/: what the differing spans hold afterwards. `carried` are rows that stay
    as they are, and are not among the paired.
    """
    within = position.sql(differing) if differing else "false"
    rows = rows_after(paired, within)
    rows = rows.unionByName(carried.where(within)) if carried is not None else rows
    rows.write.format("delta").mode("overwrite").save(spark_url(folder / "rows"))


def differing(paired: DataFrame, position: Position, spans: Sequence[Span]) -> tuple[Span, ...]:
    """The parts of the spans in which rows differ, in whole hours or days."""
    at = F.coalesce("after", "before")[position.column]
    if position.edge == "end":
        at = at - F.expr("INTERVAL 0.000001 SECOND")
    for unit, length in (("hour", timedelta(hours=1)), ("day", timedelta(days=1))):
        begun = paired.where("op IS NOT NULL").select(F.date_trunc(unit, at).alias("at"))
        rows = begun.distinct().limit(MOST_UNITS + 1).collect()
        if len(rows) <= MOST_UNITS:
            starts = [row["at"].replace(tzinfo=UTC) for row in rows]
            units = [Span(start, start + length) for start in starts]
            return joined(
                unit.within(span) for unit in units for span in spans if unit.overlaps(span)
            )
    return tuple(spans)
