"""Note: an excision, in excised/<topic>/<id>.json of a root: one for all pipelines that read it.

Each checkpoint takes it over by itself (adopt.py): by the command, or when its next run begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from pydantic import BeforeValidator, PlainSerializer

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.notes.excised import PlacesText
from spark_jobs.source.sources import BETWEEN
from spark_jobs.storage.root.files import write_whole
from spark_jobs.storage.root.store import make_folder
from spark_jobs.storage.stored import Stored
from spark_jobs.values.numbering import numbered_in
from spark_jobs.values.spans import EPOCH, EVER, MICROSECOND, Span, joined

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline, Topic

FOLDER, NOTED, ENDED, MINUTE = "excised", ".json", ".ended", timedelta(minutes=1)
MOST_SLOTS: Final = 2_000
"""Of more the closest ones are joined."""


def _known(given: Any) -> Any:
    """Older notes have more of a slot."""
    return given if isinstance(given, Span) else {end: given[end] for end in Span._fields}


Slots = tuple[Annotated[Span, BeforeValidator(_known), PlainSerializer(Span._asdict)], ...]
"""Event times of records, and those between them; each as start and end."""


class Excision(Stored):
    """The content of the note. An older Sluice cannot read elements, nor slots of form 3."""

    known: ClassVar[int] = 3

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
    slots: Slots
    each: str = ""
    """Topic.each, if the records are elements of values; empty if each is a whole value."""
    clock: str = ""
    """By which event time (clock_of); empty in an older note."""

    @property
    def form(self) -> int:
        return self.known

    def fits(self, topic: Topic) -> bool:
        """Whether its records are records of this topic, as a pipeline declares it."""
        return topic.place == self.topic and self.each in {"", topic.each}

    def within(self, spec: Pipeline, topic_ids: str) -> tuple[PlacesText, list[Span]]:
        """Its places, as the pipeline numbers them, whose checkpoint has topics with these ids:
        none, if the topic is another, or its values are taken apart otherwise. And their event
        times: all times, if it has another event time.
        """
        # The checkpoint may not know the newest topics yet.
        known = enumerate(zip(spec.inputs, topic_ids.split(BETWEEN), strict=False))
        own = {n: of for n, (of, id_) in known if id_ == self.topic_id and self.fits(of)}
        apart = self.clock and any(clock_of(topic) != self.clock for topic in own.values())
        times = [*(EVER if apart else self.slots)]
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
    found, without = [], {*known, *ids_of(root, topic, ENDED)}
    for each in ids_of(root, topic):
        path = file_of(root, topic, each)
        try:
            if each not in without:
                found.append(Excision.read(path))
        except FileNotFoundError:  # it has ended meanwhile
            continue
        except ValueError:
            raise checkpoint_broken(f"{path} does not parse", topic) from None
    return found


def ids_of(root: UPath, topic: str, suffix: str = NOTED) -> list[str]:
    """Those of a topic that are noted; or that have ENDED, which a checkpoint may still have."""
    folder = file_of(root, topic, "").parent
    there = folder.iterdir() if folder.exists() else ()
    return sorted(each.stem for each in there if each.suffix == suffix)


def end(root: UPath, topic: str, excision_id: str, who: str) -> None:
    """Let it end: from here on no checkpoint takes it over, and each that has lets it go when it
    looks. May be repeated. The note goes, since it may have values.
    """
    path = file_of(root, topic, excision_id)
    make_folder(path.parent)
    write_whole(path.with_suffix(ENDED), f"by {who}, {datetime.now(UTC)}\n")
    path.unlink(missing_ok=True)


def file_of(root: UPath, topic: str, excision_id: str) -> UPath:
    """No topic has an @ in its name."""
    return root / FOLDER / topic.replace("/", "@") / f"{excision_id}{NOTED}"


def keep(root: UPath, excision: Excision) -> None:
    """Write it: from here on it counts."""
    path = file_of(root, excision.topic, excision.id)
    make_folder(path.parent)
    excision.put(path, None)


def slots_of(times: Iterable[int]) -> Slots:
    """Of event times in microseconds since 1970, by the minute.

    >>> [str(each.end) for each in slots_of([0, 9, 60_000_000, 200_000_000])]
    ['1970-01-01 00:02:00+00:00', '1970-01-01 00:04:00+00:00']
    """
    minutes = (EPOCH + at * MINUTE for at in {each * MICROSECOND // MINUTE for each in times})
    return joined((Span(each, each + MINUTE) for each in minutes), MOST_SLOTS)
