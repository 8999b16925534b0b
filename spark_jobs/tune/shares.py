"""Shares: how many records of the batches would have been late with a delay, between two bounds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from spark_jobs.spec.analysis.late_rule import Timely
    from spark_jobs.tune.batches import Slice, Timed

Read = Mapping["Slice", Sequence[int]]
"""Slices whose records were read again -> their event times, of those that entered on time."""


class Late(NamedTuple):
    """Of records that entered."""

    least: int = 0
    most: int = 0
    entered: int = 0

    def __add__(self, other: object) -> Self:
        assert isinstance(other, Late)
        return type(self)(*(one + more for one, more in zip(self, other, strict=True)))

    @property
    def shares(self) -> tuple[float, float]:
        all_ = max(1, self.entered)
        return self.least / all_, self.most / all_

    @property
    def exact(self) -> bool:
        return self.least == self.most


def late(batch: Timed, rule: Timely, read: Read) -> Late:
    """Of one batch. What was late in it is kept record by record. Of what was not, the slices tell
    the first and the last time; a record of one of them that is judged otherwise had to be read.
    """
    first = rule(batch.newest)
    was, entered = int(batch.row["late"]), batch.entered
    kept = sum(time < first for time in batch.late)
    if first <= batch.missed:
        return Late(kept, min(was, kept + max(0, was - len(batch.late))), entered)
    if not batch.slices and entered > was:
        return Late(was, entered, entered)
    least = most = 0
    for each in batch.slices:
        fewest, all_ = _of_slice(batch, each, first, read)
        least, most = least + fewest, most + all_
    fits = entered - was
    return Late(was + min(least, fits), was + min(most, fits), entered)


def _of_slice(batch: Timed, each: Slice, first: int, read: Read) -> tuple[int, int]:
    """Of the records that were not late, how many have a time before `first`."""
    if first <= each.first:
        return 0, 0
    if each in read:
        found = sum(time < first for time in read[each])
        return found, found
    # A slice has the times of filtered records too, and of late ones unless late for certain.
    late_ones = int(batch.row["late"]) if each.first < batch.missed else 0
    certain = not late_ones and not batch.filtered
    if each.last < first:
        ends = (1 if each.first == each.last else 2) if certain else 0
        return max(ends, each.records - batch.others - late_ones), each.records
    return int(certain), each.records - 1


def undecided(batches: Iterable[Timed], rules: Collection[Timely]) -> list[Slice]:
    """The slices whose records must be read to count exactly by each of the rules."""
    found = []
    for batch in batches:
        firsts = [first for rule in rules if (first := rule(batch.newest)) > batch.missed]
        for each in batch.slices:
            plain = not batch.others and each.first >= batch.missed
            if any(each.first < n and not (plain and each.last < n) for n in firsts):
                found.append(each)
    return found


def of_all(
    batches: Iterable[Timed], rule: Timely, read: Read, by: Callable[[Timed], str] = lambda _: ""
) -> dict[str, Late]:
    """Summed by what `by` says."""
    found: dict[str, Late] = {}
    for each in batches:
        found[by(each)] = found.get(by(each), Late()) + late(each, rule, read)
    return found
