"""Unit: what a repair computes again and replaces as a whole: a range of time, a range of whole
sessions, or keys. Planner, stage, swap and undo ask it, and never which one it is.

It has two halves. A Unit finds records and puts rows, and needs no Spark. Its Rows are made where
Spark is, and compute. of_spec.py has the unit of a spec.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from pyspark.sql import Column, DataFrame

    from spark_jobs.analysis.ranged import Ranged
    from spark_jobs.messages.request import Request
    from spark_jobs.repair.compute.judging import Compared, Computed, Judging
    from spark_jobs.repair.exchange.commit import Prepared
    from spark_jobs.repair.exchange.preconditions import Claim
    from spark_jobs.repair.manifest import MergedRecord
    from spark_jobs.repair.unit.sought import Found, Sought
    from spark_jobs.root.paths import Paths
    from spark_jobs.spans.span import Span


class Unit(Protocol):
    """The unit of one pipeline. It is made of the spec alone."""

    rows: ClassVar[str]
    """The class of its Rows, as module:name: it is imported where rows are computed."""

    @property
    def unranged(self) -> str | None:
        """Why today's spec has no such unit, so that nothing can be computed; None if it has."""

    @property
    def way(self) -> Ranged:
        """Where rows are, and on which records they depend. Raises RangeUnsupported if `unranged`
        says why.
        """

    def refuse(self, request: Request) -> None:
        """Raise RangeUnsupported or RangeInvalid for a request that this unit cannot serve. It
        looks at the spec alone.
        """

    def find(self, sought: Sought) -> Found:
        """The positions to compute again, and where the records are that they need. Writes nothing.

        Raises RangeInvalid, RangeOpen or RecordsUnreachable, and what the source refuses.
        """

    def around(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """The positions of the table's rows that the rows of `spans` may replace."""

    def put_in(self, paths: Paths, claim: Claim) -> Prepared:
        """The commit that gives the table the staged rows, made ready. Nothing is written yet, and
        no lease is held.

        Raises StagingStale if the table has other rows than those which were compared, SwapRefused
        if it has a feature or rows by which nothing can be replaced.
        """

    def take_out(self, paths: Paths, claim: Claim) -> Prepared:
        """Likewise the commit that gives the table back what `put_in` has replaced."""


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
