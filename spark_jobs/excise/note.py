"""Note: an excision, in excised/<topic>/<id>.json of a root: one for all pipelines that read it.

Each checkpoint takes it over by itself (adopt.py): by the command, or when its next run begins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.notes.excised import PlacesText, offsets_of
from spark_jobs.checkpoint.notes.failing import PUT_ASIDE
from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import BETWEEN
from spark_jobs.storage.root.store import is_remote
from spark_jobs.values.numbering import numbered_in, own_of
from spark_jobs.values.spans import EPOCH, MICROSECOND, Span, floor

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline

FOLDER: Final = "excised"
MOST_SLOTS: Final = 2_000
LENGTHS: Final = tuple(timedelta(hours=of) for of in (1, 24, 24 * 30, 24 * 3_650))


class Record(NamedTuple):
    """A record that the condition holds for."""

    place: Place
    """By the topic's own number of the partition."""
    at: int
    """Its event time, in microseconds since 1970."""


class Slot(BaseModel):
    """Records with near event times."""

    model_config = ConfigDict(frozen=True)

    start: datetime
    end: datetime
    first: dict[int, int]
    """Partition -> the offset of the first of them."""

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


class Excision(Stored):
    """The content of the note."""

    id: str
    topic: str
    """Its name, behind that of its cluster."""
    topic_id: str
    where: str
    start: datetime
    end: datetime
    reason: str
    who: str
    at: datetime
    records: int
    places: PlacesText
    """By the topic's own numbers of partitions."""
    slots: tuple[Slot, ...]

    @property
    def why(self) -> str:
        """Of each of its records in ops.quarantine."""
        return f"{PUT_ASIDE} {self.who}, excision {self.id}: {self.reason}"

    def numbers(self, spec: Pipeline, topic_ids: str) -> tuple[int, ...]:
        """Of the pipeline's inputs that are this topic: `topic_ids` are those of its checkpoint."""
        # The checkpoint may not know the newest topics yet.
        known = zip(spec.inputs, topic_ids.split(BETWEEN), strict=False)
        ours = (self.topic, self.topic_id)
        return tuple(n for n, (each, id_) in enumerate(known) if (each.place, id_) == ours)

    def places_in(self, numbers: Iterable[int]) -> PlacesText:
        """Its places, as a pipeline with these numbers has the topic."""
        return {numbered_in(n, p): text for n in numbers for p, text in self.places.items()}

    def until_in(self, numbers: Iterable[int]) -> Positions:
        """Behind the last of them."""
        ends = {p: offsets_of(text).last[-1] + 1 for p, text in self.places.items()}
        return Positions({numbered_in(n, p): end for n in numbers for p, end in ends.items()})

    def passed(self, numbers: Iterable[int], since: Positions) -> list[Span]:
        """The event times of those that a reader has passed, and of others near them."""
        return [
            slot.span
            for slot in self.slots
            if any(
                since.passed(Place(numbered_in(n, p), offset))
                for n in numbers
                for p, offset in slot.first.items()
            )
        ]


def excisions(root: UPath, topic: str, known: Collection[str] = ()) -> list[Excision]:
    """Those of a topic, oldest first, without the ones that are `known` by their ids. Raises
    FormatNewer; CheckpointBroken if one does not parse.
    """
    folder = file_of(root, topic, "").parent
    if not folder.exists():
        return []
    files = (each for each in folder.iterdir() if each.suffix == ".json")
    return [_read(each, topic) for each in sorted(files) if each.stem not in known]


def _read(path: UPath, topic: str) -> Excision:
    try:
        return Excision.read(path)
    except ValueError:
        raise checkpoint_broken(f"{path} does not parse", topic) from None


def file_of(root: UPath, topic: str, excision_id: str) -> UPath:
    """No topic has an @ in its name."""
    return root / FOLDER / topic.replace("/", "@") / f"{excision_id}.json"


def keep(root: UPath, excision: Excision) -> None:
    """Write it: from here on it counts."""
    path = file_of(root, excision.topic, excision.id)
    if not is_remote(str(path)):  # an object store has no folders
        path.parent.mkdir(parents=True, exist_ok=True)
    excision.put(path, None)


def slots_of(records: Iterable[Record]) -> tuple[Slot, ...]:
    """By the hour; where there are too many hours, by the day, or by more days.

    >>> [each.first for each in slots_of([Record(Place(0, 7), 0), Record(Place(0, 5), 9)])]
    [{0: 5}]
    """
    ordered = sorted(records, key=lambda each: each.at)
    for length in LENGTHS:
        made = [*_slots(ordered, length)]
        if len(made) <= MOST_SLOTS:
            break
    return tuple(made)


def _slots(ordered: Iterable[Record], length: timedelta) -> Iterator[Slot]:
    for _, several in groupby(ordered, lambda each: floor(EPOCH + each.at * MICROSECOND, length)):
        some, first = [*several], defaultdict[int, int](lambda: 2**63 - 1)
        for place, _at in some:
            first[own_of(place.partition)] = min(first[own_of(place.partition)], place.offset)
        start, last = (EPOCH + each.at * MICROSECOND for each in (some[0], some[-1]))
        yield Slot(start=start, end=last + MICROSECOND, first=first)
