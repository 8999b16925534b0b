"""Events: the first event by which consumers were told of a version of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from spark_jobs.checkpoint.notes.published import told_newest_first

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths


class Events(NamedTuple):
    """Those that stay."""

    told: tuple[tuple[int, int], ...]
    """Number and version of the table, of those about the live place's table, newest first."""
    oldest: int
    """The number of the oldest one, of whichever table; 0 without any."""

    @classmethod
    def read(cls, paths: Paths) -> Self:
        """Raises CheckpointBroken, FormatNewer."""
        every = [*told_newest_first(paths)]
        # By its name: a moved root has its path from before.
        own = (each for each in every if each.table.rpartition("/")[2] == paths.table.name)
        return cls(
            tuple((each.number, each.table_version) for each in own),
            every[-1].number if every else 0,
        )

    def first(self, version: int) -> tuple[int | None, str]:
        """The number of the first one with this version's rows, and why it cannot be told. Versions
        of one table only grow, and so do those of its events.
        """
        numbers = [number for number, of in self.told if of >= version]
        if not numbers:
            return None, "the event: it is not published yet"
        if numbers[-1] == self.oldest > 1:
            return None, f"the event: those before {self.oldest} are gone"
        return numbers[-1], ""
