"""Note: an excision, in excised/<topic>/<id>.json of a root: one for all pipelines that read it.

Each checkpoint takes it over by itself (adopt.py): by the command, or when its next run begins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.notes.excised import PlacesText, of_elements
from spark_jobs.checkpoint.notes.failing import PUT_ASIDE
from spark_jobs.checkpoint.notes.stored import Stored
from spark_jobs.source.place import Place
from spark_jobs.source.sources import BETWEEN
from spark_jobs.storage.root.files import write_whole
from spark_jobs.storage.root.store import make_folder
from spark_jobs.values.numbering import numbered_in
from spark_jobs.values.spans import EPOCH, EVER, MICROSECOND, Span

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.source.positions import Positions
    from spark_jobs.spec import Pipeline, Topic

FOLDER, ENDED = "excised", ".ended"
MOST_SLOTS: Final = 2_000
HOURS: Final = (1, 24, 24 * 30, 24 * 3_650)
"""Lengths of slots: the first with which there are not too many."""


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


class Excision(Stored):
    """The content of the note. Of form 2 an older Sluice cannot read the elements."""

    known: ClassVar[int] = 2

    id: str
    topic: str
    """Its name, behind that of its cluster."""
    where: str
    start: datetime
    end: datetime
    """Of the event times of its records."""
    reason: str
    who: str
    at: datetime
    topic_id: str
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

    def fits(self, topic: Topic) -> bool:
        """Whether its records are records of this topic, as a pipeline declares it."""
        return topic.place == self.topic and self.each in {"", topic.each}

    def within(
        self, spec: Pipeline, topic_ids: str, since: Positions
    ) -> tuple[PlacesText, list[Span]]:
        """Its places, as the pipeline numbers them, whose checkpoint has topics with these ids:
        none, if the topic is another, or its values are taken apart otherwise. And the event times
        of those before `since`, and of others near them: all times, if it has another event time.
        """
        # The checkpoint may not know the newest topics yet.
        known = enumerate(zip(spec.inputs, topic_ids.split(BETWEEN), strict=False))
        own = {n: of for n, (of, id_) in known if id_ == self.topic_id and self.fits(of)}
        apart = self.clock and any(clock_of(topic) != self.clock for topic in own.values())
        times = [
            EVER[0] if apart else Span(slot.start, slot.end)
            for slot in self.slots
            if any(
                since.passed(Place(numbered_in(n, p), first))
                for n in own
                for p, first in slot.first.items()
            )
        ]
        return {numbered_in(n, p): text for n in own for p, text in self.places.items()}, times


def clock_of(topic: Topic) -> str:
    """What tells a record's event time: the declarations of two pipelines may differ."""
    [field] = (each for each in topic.fields if each.name == topic.event_time)
    of_field = field.model_dump_json(include={"name", "path", "part", "up", "format"})
    return of_field + topic.model_dump_json(include={"format", "key", "each", "envelope"})


def excisions(root: UPath, topic: str, known: Collection[str] = ()) -> list[Excision]:
    """Those of a topic, oldest first, without the ones that are `known` by their ids. Raises
    FormatNewer; CheckpointBroken if one does not parse.
    """
    found, without = [], {*known, *ended(root, topic)}
    for each in _ids(root, topic, ".json"):
        path = file_of(root, topic, each)
        if each not in without:
            try:
                found.append(Excision.read(path))
            except ValueError:
                raise checkpoint_broken(f"{path} does not parse", topic) from None
    return found


def ended(root: UPath, topic: str) -> list[str]:
    """The ids of those of a topic that have ended. A checkpoint may still have one."""
    return _ids(root, topic, ENDED)


def end(root: UPath, topic: str, excision_id: str, who: str) -> None:
    """Let it end: from here on no checkpoint takes it over, and each that has lets it go when it
    looks. May be repeated. The note goes, since it may have values.
    """
    path = file_of(root, topic, excision_id)
    make_folder(path.parent)
    write_whole(path.with_suffix(ENDED), f"by {who}, {datetime.now(UTC)}\n")
    path.unlink(missing_ok=True)


def _ids(root: UPath, topic: str, suffix: str) -> list[str]:
    folder = file_of(root, topic, "").parent
    there = folder.iterdir() if folder.exists() else ()
    return sorted(each.stem for each in there if each.suffix == suffix)


def file_of(root: UPath, topic: str, excision_id: str) -> UPath:
    """No topic has an @ in its name."""
    return root / FOLDER / topic.replace("/", "@") / f"{excision_id}.json"


def keep(root: UPath, excision: Excision) -> None:
    """Write it: from here on it counts."""
    path = file_of(root, excision.topic, excision.id)
    make_folder(path.parent)
    excision.put(path, None)


def slots_of(records: Collection[Record]) -> tuple[Slot, ...]:
    """By the hour; where there are too many hours, by the day, or by more days.

    >>> [each.first for each in slots_of([Record(Place(0, 7), 0), Record(Place(0, 5), 9)])]
    [{0: 5}]
    """
    for hours in HOURS:
        length = timedelta(hours=hours)
        found = defaultdict[int, list[Record]](list)
        for each in records:
            found[each.at // (length // MICROSECOND)].append(each)
        if len(found) <= MOST_SLOTS:
            break
    return tuple(_slot(found[number]) for number in sorted(found))


def _slot(records: Iterable[Record]) -> Slot:
    first, times = dict[int, int](), [each.at for each in records]
    for (partition, offset, _), _at in records:
        first[partition] = min(offset, first.get(partition, offset))
    start, last = (EPOCH + at * MICROSECOND for at in (min(times), max(times)))
    return Slot(start=start, end=last + MICROSECOND, first=first)
