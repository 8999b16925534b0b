"""Outcome: whether the steps before state have left a record out, and which of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.where.fate import Became, Fate
from spark_jobs.where.read import DROPPED

if TYPE_CHECKING:
    from spark_jobs.source.place import Place
    from spark_jobs.spec import Pipeline
    from spark_jobs.where.known import Accounted, Known
    from spark_jobs.where.read import Seen


def by_counts(batch: Accounted, spec: Pipeline) -> bool | None:
    """Whether a good record of the batch entered the first step that remembers, by the batch's
    account; None if that has both kinds.
    """
    if not spec.before_state and not spec.inputs.drops_some:
        return True
    if batch.none("filtered"):
        return True
    return False if batch.none("late", "accepted") else None


class Judge(NamedTuple):
    """Of records that their batches have neither rejected nor dropped as late."""

    known: Known
    spec: Pipeline

    def fate(self, place: Place, batch: Accounted, seen: Seen | None) -> Fate:
        """Filtered or accepted, or why that cannot be told. `seen` is None of a record that nobody
        can read any more.
        """
        fate = Fate(place, Became.UNTOLD, batch=batch.id, run_id=batch.run_id)
        entered = by_counts(batch, self.spec)
        if seen is None:
            gone = "neither Kafka nor an archive has its bytes any more"
            return _by_counts_alone(fate, entered, gone)
        if other := self._not_as_then(batch, seen):
            return _by_counts_alone(fate, entered, other)
        if seen.why is not None:
            why = f"today's decoder refuses it ({seen.why}), and its batch did not"
            return fate.but(f"its outcome: {why}")
        if entered is not None and entered != bool(seen.row):
            says = "all" if entered else "none"
            return fate.but(f"its outcome: by the account of its batch {says} entered")
        if not seen.row:
            return fate._replace(became=Became.FILTERED, why=self._left_out_by(seen))
        return fate._replace(became=Became.ACCEPTED)

    def _not_as_then(self, batch: Accounted, seen: Seen) -> str:
        """Why the steps may say something else than in its batch; empty if they do not."""
        if batch.id <= self.known.same_since:
            return "the spec has changed since its batch"
        return "the steps ask for the time of the query" if seen.by_clock else ""

    def _left_out_by(self, seen: Seen) -> str:
        if seen.reached != DROPPED:
            step = self.spec.before_state[seen.reached]
            return f"step {seen.reached + 1}: {step.described}"
        return seen.rules or "a tombstone, which the topic drops"


def _by_counts_alone(fate: Fate, entered: bool | None, why: str) -> Fate:
    if entered is None:
        return fate.but(f"whether the steps left it out: {why}")
    became = Became.ACCEPTED if entered else Became.FILTERED
    return fate._replace(became=became).but(f"by which step, or in which rows: {why}")
