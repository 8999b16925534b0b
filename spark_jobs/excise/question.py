"""Question: which records of a topic a condition holds for, by an application of Spark. Needs no
Spark.

What a pipeline's slices say not to have the event times is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import DecisionRefused, RangeInvalid
from spark_jobs.excise.note import Record
from spark_jobs.launch.warm.client import asked
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

QUESTION, ANSWER, TOLD = "question.json", "answer.arrow", "told.json"
"""Files of a job's folder."""
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


Ask = Callable[["Pipeline", "Settings", Question], tuple[list[Record], Told]]
"""Asks Spark."""


class Failed(Exception):
    """The application has failed, and has said why."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def find(
    reader: Pipeline,
    readers: Iterable[Pipeline],
    settings: Settings,
    topic: str,
    where: str,
    span: Span,
    most_records: int,
    ask: Ask,
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
    for spec in readers:
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
    records, told = ask(reader, settings, question)
    if told.refused:
        raise DecisionRefused.condition_refused(where=where, topic=topic, why=told.refused)
    if len(records) > MOST:
        raise DecisionRefused.too_many_excised(most=MOST)
    return Found(records, told, state.id)


def topic_of(spec: Pipeline, place: str) -> Topic:
    """As this pipeline declares it."""
    return next(each for each in spec.inputs if each.place == place)


def ask_application(
    reader: Pipeline, settings: Settings, question: Question
) -> tuple[list[Record], Told]:
    """What Spark says, by an application of its own or by the worker. Raises Failed."""
    # A worker's Python processes may end behind the run.
    with TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder:
        where = Path(folder)
        (where / QUESTION).write_text(question.model_dump_json())
        job = Excise(pipeline=reader.name, folder=folder)
        if status := asked(settings, job, offsets_in(question.parts)):
            raise Failed(status)
        return answered(where)


def answered(folder: Path) -> tuple[list[Record], Told]:
    """The answer in the folder of a job that has ended well."""
    told = Told.model_validate_json((folder / TOLD).read_text())
    if told.refused:
        return [], told
    with pa.OSFile(str(folder / ANSWER)) as file:
        table = pa.ipc.open_file(file).read_all()
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
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
    sql = f'SELECT "partition", "offset" FROM late WHERE {own} AND ({at})'
    late: dict[int, list[tuple[int, int]]] = {}
    for row in ops_tables.query(paths.root, "late", sql).to_pylist():
        late.setdefault(row["partition"], []).append((row["offset"], row["offset"] + 1))
    drained: Parts = {p: (part,) for p, part in index.within.items()}
    wanted = ({p: tuple(sorted(of)) for p, of in late.items()}, index.overlapping([span]))
    others = drained
    for each in (*wanted, index.lacking):
        others = less(others, each)
    ids = known.topic_id.split(BETWEEN)
    for n, parts in by_input(others).items():
        if n < len(spec.inputs) and (spec.inputs[n].place, ids[n]) == (topic, topic_id):
            there = less(there, parts)
    return there
