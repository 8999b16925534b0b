"""Rows: what is asked of a unit where Spark is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from pyspark.sql import Column, DataFrame

    from spark_jobs.repair.compute.judging import Compared, Computed, Judging
    from spark_jobs.repair.manifest import MergedRecord
    from spark_jobs.repair.unit.unit import Unit
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.values.spans.span import Span


class Rows(Protocol):
    """The rows of a unit, by Spark. The caller releases what is computed once
    (launch/few_records.py).
    """

    way: Ranged

    def __init__(self, unit: Unit, judging: Judging) -> None: ...

    def compute(self) -> Computed:
        """The rows that the records give, and what was observed of these. All that was observed is
        complete when it returns: the records are read once.
        """

    def compare(self, computed: Computed) -> Compared:
        """The table's rows at the plan's version, each with the computed row that is the same row.

        Raises RangeUnsupported or RangeInvalid if what was read is not enough for these rows.
        """

    def fates(self, computed: Computed, paired: DataFrame) -> tuple[MergedRecord, ...]:
        """What became of each late and each replayed record of the plan."""

    def hour(self) -> Column:
        """timestamp. The hour in which a paired row is; null where rows have no place in time."""

    def differing(self, hours: Collection[datetime], rows: int) -> tuple[Span, ...]:
        """What the swap is to replace, where `rows` rows differ, in these hours.

        Raises RangeInvalid for more rows than a swap can replace.
        """

    def write(self, compared: Compared, parts: tuple[Span, ...]) -> None:
        """Write beside the table what `put_in` needs for these parts, but for what differs."""

    def after(self, paired: DataFrame) -> DataFrame:
        """What consumers then see of the unit."""

    @property
    def proved(self) -> Span | None:
        """The range of which a verify says whether it is right; None where there is none, or where
        a person may swap.
        """
