"""Ask: the question that needs Spark's SQL, by an application of Spark, or by the worker that there
is. Needs no Spark.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from spark_jobs.launch.warm.client import asked
from spark_jobs.messages.job import Where
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.source.place import Place
from spark_jobs.source.positions import Positions
from spark_jobs.values.own_columns import OFFSET, PARTITION, own
from spark_jobs.values.spans import FIRST, LAST
from spark_jobs.where.read import Seen, values

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings

QUESTION, ANSWER, FAILED, COUNTS = "question.json", "answer.arrow", "failed.txt", "counts.json"
"""Files of a job's folder."""
REACHED, WHY, RULES, BY_CLOCK, ROW, AT = map(
    own, ("reached", "why", "rules", "by_clock", "row", "at")
)
"""Columns of the answer, beside a place's."""
CLOCK: Final = "the steps ask for the time of the query"


class Question(BaseModel):
    """A file, since a command line holds no 10,000 places."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    asked: dict[int, dict[int, tuple[tuple[int, int], ...]]] = {}
    """Batch -> partition -> ranges of offsets, read with the versions of the tables beside the
    stream that the batch had.
    """
    beside: dict[int, tuple[tuple[int, int], ...]] = {}
    """Likewise those among which copies of them are looked for."""
    earliest: Positions = Positions()
    """At the first records that Kafka has. What is before comes from an archive."""
    aside: list[tuple[int, int, str]] = []
    """Partition, offset and reason of records that no step sees."""
    key: str = ""
    """In place of `asked`: a condition over decoded columns; the answer is the places, at most
    `most` of them, of the records among `beside` that it holds for.
    """
    most: int = 0
    topic: str = ""
    """With `key`: of this topic alone, as the pipeline declares it, and by its own numbers of
    partitions. The condition may then name `header`, `key`, `timestamp`, `partition` and `offset`
    too. No record makes the question fail, and the answer has event times.
    """
    topic_id: str = ""
    start: datetime = FIRST
    end: datetime = LAST
    """Of the event times of a topic's records."""


class Counts(BaseModel):
    """Of the records of a topic that were asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    read: int = 0
    undecoded: int = 0
    headerless: int = 0
    """Records of which an archive has kept no headers."""
    fails: int = 0
    """Records of these times on which the condition's SQL fails."""
    first: tuple[int, int] | None = None
    """The partition and the offset of the first of these."""


class Answer(NamedTuple):
    """What Spark says."""

    table: pa.Table
    """A row a place: PARTITION, OFFSET; and REACHED, WHY, RULES, BY_CLOCK and ROW of `asked`; of a
    topic AT, the event time in microseconds since 1970.
    """
    counts: Counts

    @property
    def places(self) -> list[Place]:
        """In order."""
        columns = (self.table[name].to_pylist() for name in (PARTITION, OFFSET))
        return sorted(map(Place, *columns))

    @property
    def seen(self) -> dict[Place, Seen]:
        """Of `asked`."""
        table = self.table
        entered: list[dict[str, Any]] = [{}] * table.num_rows
        if ROW in table.column_names:
            column = table[ROW].combine_chunks()
            columns = pa.table(column.flatten(), names=[field.name for field in column.type])
            there = column.is_valid().to_pylist()
            pairs = zip(values(columns), there, strict=True)
            entered = [row if is_there else {} for row, is_there in pairs]
            table = table.drop_columns(ROW)
        return {
            Place(told[PARTITION], told[OFFSET]): Seen(
                told.get(REACHED) or 0,
                row,
                told.get(WHY),
                told.get(RULES),
                CLOCK if told.get(BY_CLOCK) else "",
            )
            for told, row in zip(table.to_pylist(), entered, strict=True)
        }


class Failed(Exception):
    """The application has failed, and has said why; `why` is empty unless a record was it."""

    def __init__(self, status: int, why: str = "") -> None:
        super().__init__(status)
        self.status = status
        self.why = why


def ask(pipeline: str, settings: Settings, question: Question) -> Answer:
    """What it tells. Raises Failed."""
    # A worker's Python processes may end behind the run.
    with TemporaryDirectory(prefix="sluice-", ignore_cleanup_errors=True) as folder:
        put(question, Path(folder))
        job = Where(pipeline=pipeline, folder=folder)
        every = (question.beside, *question.asked.values())
        if status := asked(settings, job, sum(map(offsets_in, every))):
            raise Failed(status)
        return answered(Path(folder))


def put(question: Question, folder: Path) -> None:
    """For answered to answer."""
    (folder / QUESTION).write_text(question.model_dump_json())


def answered(folder: Path) -> Answer:
    """The answer in the folder of a job that has ended well. Raises Failed."""
    if (folder / FAILED).exists():
        raise Failed(1, (folder / FAILED).read_text())
    with pa.OSFile(str(folder / ANSWER)) as file:
        table = pa.ipc.open_file(file).read_all()
    counts = (folder / COUNTS).read_text() if (folder / COUNTS).exists() else "{}"
    return Answer(table, Counts.model_validate_json(counts))
