"""Paired: where a record is in the rows of a step that takes inputs apart, and what it awaits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from spark_jobs.spec.columns import Origin, Origins
from spark_jobs.values.times import iso, time_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from spark_jobs.source.place import Place
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.steps.step import Pairs
    from spark_jobs.where.ask import Seen
    from spark_jobs.where.known import Accounted


class Paired(NamedTuple):
    """One record of an input that a step takes apart."""

    found: Pairs
    row: dict[str, Any]
    """Column of the table -> the record's value."""
    others: str
    """The inputs whose records it finds."""
    at: datetime | str
    """Its event time."""

    @classmethod
    def of(cls, spec: Pipeline, place: Place, seen: Seen) -> Self | None:
        """None where no step takes inputs apart, or a later one makes other columns."""
        at = next((n for n, step in enumerate(spec.steps) if step.takes), None)
        if at is None:
            return None
        own = spec.inputs.of_partition(place.partition).name
        found = spec.steps[at].pairs(own)
        if found is None:
            return None
        same: Origins = {name: (Origin(name, "identity"),) for name in found.columns}
        origins = same
        for step in spec.steps[at + 1 :]:
            origins = step.origins_after(origins, spec.inputs.event_time)
        if any(origins.get(name) != of for name, of in same.items()):
            return None
        row = {new: seen.row[old] for new, old in found.columns.items()}
        others = ", ".join(name for name in spec.steps[at].takes if name != own)
        return cls(found, row, others, time_of(seen.row[spec.inputs.event_time]))

    def alone(self, batches: Iterable[Accounted]) -> str:
        """What it waits for, if it is in no row; empty if it waits no more."""
        if isinstance(self.at, str):
            return ""
        try:
            until = self.at + self.found.waits
        except OverflowError:
            return ""
        marks = [each.watermark for each in batches if each.watermark is not None]
        if marks and max(marks) > until:
            return "" if self.found.alone else f"no row of {self.others} found it"
        then = "; then it leaves alone" if self.found.alone else ""
        return f"it waits in the state for a row of {self.others}, until {iso(until, ' ')}{then}"
