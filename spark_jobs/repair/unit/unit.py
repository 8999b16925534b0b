"""Unit: what a repair computes again and replaces as a whole: a range of time, a range of whole
sessions, or keys. Planner, stage, swap and undo ask it, and never which one it is.

It has two halves. A Unit finds records and puts rows, and needs no Spark. Its Rows
(comparison.py) are made where Spark is, and compute.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from spark_jobs.repair.unit.key_unit import KeyUnit
from spark_jobs.repair.unit.range_unit import RangeUnit, SessionUnit
from spark_jobs.spec.analysis.ranged import sessions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.messages.request import Request
    from spark_jobs.repair.exchange.commit import Prepared
    from spark_jobs.repair.exchange.preconditions import Claim
    from spark_jobs.repair.unit.sought import Found, Sought
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.values.spans import Span


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


def unit_of(spec: Pipeline) -> Unit:
    """Also where nothing can be computed: what was staged may still be taken back."""
    if spec.keyed is not None:
        return KeyUnit(spec, spec.keyed)
    return SessionUnit(spec) if sessions(spec) else RangeUnit(spec)
