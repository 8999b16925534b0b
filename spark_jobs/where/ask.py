"""Ask: which records a person asks for, and what is asked of Spark about them. Needs no Spark."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict

from spark_jobs.launch.question import Failed, ask as ask_spark, rows_of
from spark_jobs.messages.job import Where
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.source.place import PLACE, Place
from spark_jobs.source.positions import Positions
from spark_jobs.values.own_columns import own
from spark_jobs.values.spans import FIRST, LAST

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.inputs import Topics
    from spark_jobs.spec.steps.step import Step

FAILED, COUNTS = "failed.txt", "counts"
"""In a job's folder: why it has no answer; what the schema of an answer tells beside it."""
ROW: Final = "row"
TOLD: Final = ("reached", ROW, "why", "rules", "untold")
"""Columns of the answer, beside a place's: those of Seen."""
AT: Final = "at"
"""Of a topic: the event time in microseconds since 1970."""
CLOCK: Final = "the steps ask for the time of the query"
DROPPED = -1
"""In place of a count of steps: a tombstone, a record that a rule drops, or one that is not good.
"""
MOST: Final = 10_000
"""Records of one question."""


def places(inputs: Topics, texts: Iterable[str]) -> list[Place]:
    """Each once, in order: of texts such as "3:120", "3:120-140" or "3:120,3:130"; "3:120:7" where
    a value has many records. Raises ValueError, in words.
    """
    found: dict[Place, None] = {}
    for text in (each.strip() for given in texts for each in given.split(",")):
        if (range_ := inputs.range_of(text)) is None:
            one = f"{inputs[0].name}/PARTITION" if inputs.named else "PARTITION"
            raise ValueError(
                f"{text!r} is no place of a record. Write {one}:OFFSET, or {one}:FIRST-LAST."
            )
        partition, first, last, element = range_
        if last < first:
            raise ValueError(f"{text!r}: its last offset is before its first")
        if len(found) + last - first + 1 > MOST:
            raise ValueError(f"at most {MOST:,} records can be asked for at once")
        offsets = range(first, last + 1)
        found |= dict.fromkeys(Place.at(partition, offset, element) for offset in offsets)
    return sorted(found)


class Seen(NamedTuple):
    """A record, as today's spec has it."""

    reached: int
    """How many steps before state have let it through; DROPPED of one that enters none."""
    row: dict[str, Any]
    """What enters the next step, if it has passed all; else nothing. Times are numbers."""
    why: str | None = None
    """Why it is malformed by today's spec."""
    rules: str | None = None
    """Which rules it fails, if one of them drops it."""
    untold: str | None = None
    """Why the steps may have said something else in its batch."""


class Question(BaseModel):
    """Of records, by their places or by a condition."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asked: dict[int, dict[int, tuple[tuple[int, int], ...]]] = {}
    """Batch -> partition -> ranges of offsets, read with the versions of the tables beside the
    stream that the batch had.
    """
    beside: dict[int, tuple[tuple[int, int], ...]] = {}
    """Likewise those among which copies of them are looked for."""
    earliest: Positions = Positions()
    """At the first records that Kafka has. What is before comes from an archive."""
    aside: list[tuple[int, int, int, str]] = []
    """Place and reason of records that no step sees."""
    key: str = ""
    """In place of `asked`: a condition over decoded columns; the answer is the places, at most
    `most` of them, of the records among `beside` that it holds for.
    """
    most: int = 0
    topic: str = ""
    """With `key`: of this topic alone, by its own numbers of partitions. The condition may name
    by_spark.py's BESIDE. No record makes the question fail; the answer has event times.
    """
    topic_id: str
    start: datetime = FIRST
    end: datetime = LAST
    """Of the event times of a topic's records."""


class Answer(NamedTuple):
    """What Spark says."""

    table: pa.Table
    """A row a place: PLACE; and TOLD of `asked`, or of a topic AT."""

    @property
    def counts(self) -> dict[str, Any]:
        """Of a topic's records: read, undecoded; headerless, of which an archive kept no headers;
        fails, on which the condition's SQL fails, with partition and offset of the first.
        """
        told: dict[str, Any] = json.loads(self.table.schema.metadata[COUNTS.encode()])
        return told

    @property
    def places(self) -> list[Place]:
        """In order."""
        return sorted(map(Place, *(self.table[name].to_pylist() for name in PLACE)))

    @property
    def seen(self) -> dict[Place, Seen]:
        """Of `asked`."""
        column = self.table[ROW].combine_chunks()
        rows = values(pa.table(column.flatten(), names=[field.name for field in column.type]))
        entered = zip(rows, column.is_valid().to_pylist(), strict=True)
        told = self.table.drop_columns(ROW).to_pylist()
        return {
            Place(*(each.pop(name) for name in PLACE)): Seen(row=row if there else {}, **each)
            for each, (row, there) in zip(told, entered, strict=True)
        }


def ask(pipeline: str, settings: Settings, question: Question) -> Answer:
    """What it tells. Raises Failed."""
    offsets = sum(map(offsets_in, (question.beside, *question.asked.values())))
    return ask_spark(
        settings, question, lambda to: Where(pipeline=pipeline, folder=to), offsets, answered
    )


def answered(folder: Path) -> Answer:
    """The answer in the folder of a job that has ended well. Raises Failed."""
    if (folder / FAILED).exists():
        raise Failed(1, (folder / FAILED).read_text())
    return Answer(rows_of(folder))


def values(table: pa.Table, at: Iterable[int] | None = None) -> list[dict[str, Any]]:
    """The rows, or those with these numbers. Times are microseconds and days are numbers: Arrow
    gives Python no time that Python has not.
    """
    some = table if at is None else table.take(pa.array([*at], pa.int64()))
    rows: list[dict[str, Any]] = _numbers(some).to_pylist()
    return rows


def _numbers(table: pa.Table) -> pa.Table:
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            micros = table.column(at).cast(pa.timestamp("us", field.type.tz)).cast(pa.int64())
            table = table.set_column(at, field.name, micros)
        elif pa.types.is_date32(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.int32()))
    return table


def deduplicates(spec: Pipeline) -> Step | None:
    """The step by which accepted records are copies of others; None if none is."""
    return spec.entry if spec.entry and spec.entry.balance.drops_duplicates else None


def alike(
    table: pa.Table, names: Sequence[str], wanted: Collection[Mapping[str, Any]]
) -> Iterator[int]:
    """The numbers of the rows whose key is that of a wanted row, which `values` made. Arrow leaves
    out most of those that differ in a text or an integer.
    """
    keys, rows = {key_of(row, names) for row in wanted}, _numbers(table.select(names))
    rows = rows.append_column(own("number"), pa.array(range(rows.num_rows)))
    for name in names:
        kind = rows.schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
            continue
        kind = kind if pa.types.is_string(kind) else pa.int64()
        of_wanted = pa.array({row[name] for row in wanted}, kind)
        rows = rows.filter(pc.is_in(rows[name].cast(kind), of_wanted))
    for row in rows.to_pylist():
        if key_of(row, names) in keys:
            yield row[own("number")]


def key_of(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """One text for equal values of these columns, as Spark compares them."""
    return repr(
        [0.0 if (value := row[name]) == 0 and isinstance(value, float) else value for name in names]
    )
