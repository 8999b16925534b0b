"""Note: an excision, in excised/<topic>/<id>.json of a root: one for all pipelines that read it.

Each checkpoint takes it over by itself (adopt.py): by the command, or when its next run begins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.notes.excised import PlacesText, of_elements
from spark_jobs.checkpoint.notes.failing import PUT_ASIDE
from spark_jobs.source.place import Place
from spark_jobs.source.sources import BETWEEN
from spark_jobs.storage.root.store import make_folder
from spark_jobs.storage.stored import Stored
from spark_jobs.values.numbering import numbered_in, own_of
from spark_jobs.values.spans import EPOCH, FIRST, LAST, MICROSECOND, Span, floor

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.source.positions import Positions
    from spark_jobs.spec import Pipeline, Topic

FOLDER, ENDED = "excised", ".ended"
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
    """The content of the note. Of form 2 an older Sluice cannot read the elements."""

    known: ClassVar[int] = 2

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
    each: str = ""
    """Topic.each, if the records are elements of values; empty if each is a whole value."""
    clock: str = ""
    """By which event time (clock_of); empty in an older note."""

    @property
    def form(self) -> int:
        return 2 if of_elements(self.places) else 1

    @property
    def why(self) -> str:
        """Of each of its records in ops.quarantine."""
        return f"{PUT_ASIDE} {self.who}, excision {self.id}: {self.reason}"

    def numbers(self, spec: Pipeline, topic_ids: str) -> tuple[int, ...]:
        """Of the pipeline's inputs that are this topic, with such records: `topic_ids` are those
        of its checkpoint.
        """
        # The checkpoint may not know the newest topics yet.
        known = zip(spec.inputs, topic_ids.split(BETWEEN), strict=False)
        return tuple(
            n for n, (topic, id_) in enumerate(known) if id_ == self.topic_id and self.fits(topic)
        )

    def fits(self, topic: Topic) -> bool:
        """Whether its records are records of this topic, as a pipeline declares it."""
        return topic.place == self.topic and self.each in {"", topic.each}

    def places_in(self, numbers: Iterable[int]) -> PlacesText:
        """Its places, as a pipeline with these numbers has the topic."""
        return {numbered_in(n, p): text for n in numbers for p, text in self.places.items()}

    def passed(self, spec: Pipeline, numbers: Sequence[int], since: Positions) -> list[Span]:
        """The event times of those that a reader has passed, and of others near them: all times, if
        it has another event time.
        """
        apart = self.clock and any(clock_of(spec.inputs[n]) != self.clock for n in numbers)
        return [
            Span(FIRST, LAST) if apart else slot.span
            for slot in self.slots
            if any(
                since.passed(Place(numbered_in(n, p), offset))
                for n in numbers
                for p, offset in slot.first.items()
            )
        ]


class Ended(Stored):
    """That an excision has ended, in <id>.ended beside the note, which goes: it may have values."""

    who: str
    at: datetime


def clock_of(topic: Topic) -> str:
    """What tells a record's event time: the declarations of two pipelines may differ."""
    [field] = (each for each in topic.fields if each.name == topic.event_time)
    of_field = field.model_dump_json(include={"name", "path", "part", "up", "format"})
    return of_field + topic.model_dump_json(include={"format", "key", "each", "envelope"})


def excisions(root: UPath, topic: str, known: Collection[str] = ()) -> list[Excision]:
    """Those of a topic, oldest first, without the ones that are `known` by their ids. Raises
    FormatNewer; CheckpointBroken if one does not parse.
    """
    there = _files(root, topic)
    without = {*known, *_ids(there, ENDED)}
    return [_read(path, topic) for path in there if path.stem in _ids([path], ".json") - without]


def ended(root: UPath, topic: str) -> set[str]:
    """The ids of those of a topic that have ended. A checkpoint may still have one."""
    return _ids(_files(root, topic), ENDED)


def end(root: UPath, topic: str, excision_id: str, who: str) -> None:
    """Let it end: from here on no checkpoint takes it over, and each that has lets it go when it
    looks. May be repeated.
    """
    path = file_of(root, topic, excision_id)
    make_folder(path.parent)
    Ended(who=who, at=datetime.now(UTC)).write(path.with_suffix(ENDED))
    path.unlink(missing_ok=True)


def _ids(files: Iterable[UPath], suffix: str) -> set[str]:
    return {each.stem for each in files if each.suffix == suffix}


def _files(root: UPath, topic: str) -> list[UPath]:
    folder = file_of(root, topic, "").parent
    return sorted(folder.iterdir()) if folder.exists() else []


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
    make_folder(path.parent)
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
