"""Removed: the offsets of its batches that an archive lacks, in removed.json beside its checkpoint.

Kafka's retention took them before the archive read them (runs/drain.py notes what was gone before a
run, runs/account/overtaken.py what went during a batch), or `sluice maintain` removed them after
the topic's `keep`. They are why an archive does not cover all that its batches do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Self

from pydantic import Field as Described

from spark_jobs.errors import CheckpointBroken
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.stored import Stored

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths

Offset = tuple[int, int]
"""Offsets from the first one up to the second one, which is not among them."""


class Removed(Stored):
    """The content of removed.json."""

    offsets: dict[int, tuple[Offset, ...]] = Described(default_factory=dict)
    """Partition -> ranges, ascending; none touches another."""

    @property
    def number(self) -> int:
        """How many offsets."""
        return sum(stop - first for ranges in self.offsets.values() for first, stop in ranges)

    def and_(self, more: Mapping[int, Iterable[Offset]]) -> Self:
        """With these offsets too.

        >>> Removed(offsets={0: ((0, 5),)}).and_({0: [(5, 9), (20, 22)], 1: [(3, 3)]}).offsets
        {0: ((0, 9), (20, 22))}
        """
        found = dict(self.offsets)
        for partition, ranges in more.items():
            if joined := _joined([*found.get(partition, ()), *ranges]):
                found[partition] = joined
        return self.model_copy(update={"offsets": found})


def read_removed(paths: Paths) -> Removed:
    """What the archive lacks; nothing without the file. Raises FormatNewer, or CheckpointBroken if
    it does not parse: without it the archive would be said to have what it lacks.
    """
    try:
        return Removed.read(paths.removed)
    except FileNotFoundError:
        return Removed()
    except ValueError:
        raise CheckpointBroken.removals_unreadable(
            path=paths.removed, pipeline=paths.pipeline
        ) from None


def note_removed(paths: Paths, more: Mapping[int, Iterable[Offset]], held: Held) -> int:
    """Add these offsets to the file; how many it did not have. `held` is the archive's lease."""
    known = read_removed(paths)
    if (now := known.and_(more)) != known:
        now.put(paths.removed, held)
    return now.number - known.number


def _joined(ranges: Iterable[Offset]) -> tuple[Offset, ...]:
    found: list[Offset] = []
    for first, stop in sorted(each for each in ranges if each[0] < each[1]):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], stop))
        else:
            found.append((first, stop))
    return tuple(found)
