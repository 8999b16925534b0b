"""Question: which records of a topic a condition holds for, by an application of Spark. Needs no
Spark.

What a pipeline's slices say not to have the event times is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import DecisionRefused, RangeInvalid
from spark_jobs.excise.note import Record, clock_of
from spark_jobs.launch.question import ask, rows_of
from spark_jobs.messages.job import Excise
from spark_jobs.ops import ops_tables
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.archived import archived_or_why, beginning
from spark_jobs.repair.offsets.slices import Index, less, merged
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import BETWEEN, source_of
from spark_jobs.spec import Archive
from spark_jobs.spec.inputs import Topics
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.numbering import by_input
from spark_jobs.values.spans import Position, Span

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline, Topic

TOLD: Final = "told.json"
"""In a job's folder."""
MOST: Final = 1_000_000
"""Records of one excision: each pipeline has their offsets in memory."""


class Question(BaseModel):
    """Of one topic, by its own numbers of partitions."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    topic: str
    parts: dict[int, tuple[tuple[int, int], ...]]
    earliest: Positions
    topic_id: str
    where: str
    start: datetime
    end: datetime


class Told(BaseModel):
    """What the application says beside the places."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    refused: str = ""
    """Why the condition cannot be asked; then there is nothing else."""
    read: int = 0
    undecoded: int = 0
    headerless: int = 0
    """Records of which an archive has kept no headers."""
    fails: int = 0
    """Records of these times on which the condition's SQL fails."""
    first: tuple[int, int] | None = None
    """The partition and the offset of the first of these."""


class Found(NamedTuple):
    """The records, and what is said of others."""

    records: list[Record]
    told: Told
    topic_id: str
    clock: str
    """By which event time (note.py)."""


Ask = Callable[["Pipeline", "Settings", Question], tuple[list[Record], Told]]
"""Asks Spark."""


def find(
    reader: Pipeline,
    readers: Iterable[Pipeline],
    settings: Settings,
    topic: str,
    where: str,
    span: Span,
    most_records: int,
    asks: Ask,
) -> Found:
    """The records of the topic that Kafka and archives have now. One of the `readers` of the topic
    reads it, `reader`; what all have drained says where its records are.

    Raises DecisionRefused for a condition that Spark refuses, or too many records; RangeInvalid for
    too many to read; Failed; and what Kafka refuses.
    """
    declared = topic_of(reader, topic)
    state = source_of(archive_spec(declared, Archive()), settings).state()
    root = Paths(settings.root, reader).root
    has, _ = archived_or_why(root, Topics([declared]), state.id)
    there = _joined([state.earliest.parts(state.latest), has])
    clock = clock_of(declared)
    for spec in readers:
        if clock_of(topic_of(spec, topic)) != clock:  # its slices tell of other times
            continue
        there = _less(there, spec, Paths(settings.root, spec), (topic, state.id), span)
    parts = {p: tuple(merged(ranges)) for p, ranges in there.items()}
    if (offsets := offsets_in(parts)) > most_records:
        raise RangeInvalid.too_many_records(
            pipeline=topic, offsets=offsets, most_records=most_records
        )
    question = Question(
        topic=topic,
        parts=parts,
        earliest=state.earliest,
        topic_id=state.id,
        where=where,
        start=span.start,
        end=span.end,
    )
    records, told = asks(reader, settings, question)
    if told.refused:
        raise DecisionRefused.condition_refused(where=where, topic=topic, why=told.refused)
    if len(records) > MOST:
        raise DecisionRefused.too_many_excised(most=MOST)
    return Found(records, told, state.id, clock)


def topic_of(spec: Pipeline, place: str) -> Topic:
    """As this pipeline declares it."""
    return next(each for each in spec.inputs if each.place == place)


def ask_application(
    reader: Pipeline, settings: Settings, question: Question
) -> tuple[list[Record], Told]:
    """What Spark says, by an application of its own or by the worker. Raises Failed."""
    offsets = offsets_in(question.parts)
    return ask(
        settings, question, lambda to: Excise(pipeline=reader.name, folder=to), offsets, answered
    )


def answered(folder: Path) -> tuple[list[Record], Told]:
    """The answer in the folder of a job that has ended well."""
    told = Told.model_validate_json((folder / TOLD).read_text())
    if told.refused:
        return [], told
    rows = zip(*(column.to_pylist() for column in rows_of(folder).columns), strict=True)
    return [Record(Place(partition, offset), at) for partition, offset, at in rows], told


def _joined(several: Iterable[Parts]) -> Parts:
    found: dict[int, list[tuple[int, int]]] = {}
    for parts in several:
        for partition, ranges in parts.items():
            found.setdefault(partition, []).extend(ranges)
    return {p: tuple(merged(ranges, 1, len(ranges))) for p, ranges in found.items()}


def _less(there: Parts, spec: Pipeline, paths: Paths, of: tuple[str, str], span: Span) -> Parts:
    """Without what this pipeline has drained and knows not to have these event times."""
    topic, topic_id = of
    known, audited = read_identity(paths), read_cursor(paths.cursor).audited
    if known is None or audited < 0:
        return there
    generations = known.generations
    end = Checkpoint(paths.checkpoint).batch(audited).end
    index = Index.read(paths, generations, beginning(paths, generations), end)
    own = ops_tables.of_checkpoint(spec.name, generations)
    at = Position("event_time").sql([span])
    # A slice has no times of late and quarantined records. These others may have taken, and a
    # replay may bring them in.
    kept: dict[int, list[tuple[int, int]]] = {}
    for table, among in (("late", f"{own} AND ({at})"), ("quarantine", own)):
        sql = f'SELECT DISTINCT "partition", "offset" FROM {table} WHERE {among}'
        for row in ops_tables.query(paths.root, table, sql).to_pylist():
            kept.setdefault(row["partition"], []).append((row["offset"], row["offset"] + 1))
    drained: Parts = {p: (part,) for p, part in index.within.items()}
    wanted = ({p: tuple(sorted(of)) for p, of in kept.items()}, index.overlapping([span]))
    others = drained
    for each in (*wanted, index.lacking):
        others = less(others, each)
    ids = known.topic_id.split(BETWEEN)
    for n, parts in by_input(others).items():
        if n < len(spec.inputs) and (spec.inputs[n].place, ids[n]) == (topic, topic_id):
            there = less(there, parts)
    return there
