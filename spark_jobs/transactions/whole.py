"""Whole: where runs end between two transactions of the source, in whole.json beside the checkpoint
of a pipeline with publish_at=Transactions(...). A run notes its end before it reads.

So a run that a kill or a limit ended before it has one way on, which is to this end; what is
published ends at one; and the next run knows which transactions it has nothing of yet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.messages.up_to import UpTo

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths

KEPT = 100
"""Ends: checks may fail for as many runs, and what had passed before is published still."""


class Whole(BaseModel):
    """Offsets that no transaction is on both sides of."""

    model_config = ConfigDict(frozen=True)

    offsets: dict[int, int]
    """Partition -> the next offset."""
    unread: tuple[int, ...]
    """Partitions where nothing is read up to there: a batch may not have them."""
    topic_id: str
    """The transaction topic's, which tells it from one that was made anew."""
    behind: int
    """The offset of the transaction topic behind the END."""
    up_to: UpTo | None
    """That END; None before the first."""

    def is_end_of(self, ends: Offsets) -> bool:
        """Whether a batch with these ends has all up to it, and nothing else."""
        lacking = self.offsets.keys() - ends.keys()
        return lacking <= {*self.unread} and all(
            self.offsets.get(p, 0) == at for p, at in ends.items()
        )


class WholeEnds(Stored):
    """The content of whole.json, the newest last."""

    ends: tuple[Whole, ...] = ()

    @property
    def last(self) -> Whole | None:
        return self.ends[-1] if self.ends else None

    def end_of(self, offsets: Offsets) -> Whole | None:
        """The newest one at which such a batch ends."""
        return next((each for each in reversed(self.ends) if each.is_end_of(offsets)), None)

    def note(self, end: Whole, paths: Paths, held: Held) -> None:
        """Note it, before a record behind the last one is read."""
        if end != self.last:
            now = (*self.ends, end)[-KEPT:]
            self.model_copy(update={"ends": now}).put(note_of(paths), held)


def note_of(paths: Paths) -> UPath:
    """Where it is."""
    return paths.version / "whole.json"


def read_whole(paths: Paths) -> WholeEnds:
    """The note; empty without one, and of one that does not parse: a run without it finds its end
    anew, and what no note says is published later.
    """
    try:
        return WholeEnds.read(note_of(paths))
    except FileNotFoundError:
        return WholeEnds()
    except ValueError:
        return WholeEnds().over(note_of(paths))
