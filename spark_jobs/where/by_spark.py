"""By Spark: what the steps before state make of records, by the drain's own dataflow, in one job.
The application's half; ask.py is the half of whoever asks.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.dataflow import Dataflow, dataflow
from spark_jobs.launch.question import QUESTION, Failed, put_rows
from spark_jobs.launch.session import session
from spark_jobs.side.pins import inputs_of
from spark_jobs.source.place import PLACE, Place
from spark_jobs.source.place_columns import columns
from spark_jobs.source.sources import source_of
from spark_jobs.steps import by_rules
from spark_jobs.steps.catalyst import asks_for_the_time
from spark_jobs.steps.chain import stages
from spark_jobs.steps.classify import good_records
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.own_columns import KAFKA, MALFORMED, own
from spark_jobs.where.ask import CLOCK, DROPPED, FAILED, ROW, TOLD, Question, deduplicates
from spark_jobs.where.of_topic import of_topic, records_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import Column

    from spark_jobs.messages.job import Where
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline

END_OF_TIME_MS: Final = 253_402_300_799_000
"""A clock by which nothing is premature: what was so in its batch is kept, and known."""
_CONDITION: Final = re.compile(r"\[[A-Z][A-Z0-9_.]+\] [^\n]+")


def tell(job: Where, spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Prints nothing: the answer is files."""
    folder = Path(job.folder)
    question = Question.model_validate_json((folder / QUESTION).read_text())
    spark = session(spec.name, spec.state, settings.root)
    try:
        if question.topic:
            table = of_topic(spark, spec, settings, question)
        else:
            answer = _Answer(spark, spec, settings, question)
            table = (answer.by_key() if question.key else answer.of_places()).toArrow()
    except Failed as failed:
        (folder / FAILED).write_text(failed.why)
    except (PySparkException, Py4JJavaError) as error:
        text = str(error).strip()
        said = _CONDITION.search(text)  # behind the wrappers of Python's client
        (folder / FAILED).write_text(said[0] if said else text.splitlines()[0])
    else:
        put_rows(table, folder)
    yield from ()


class _Answer:
    """The dataflow over records, wherever they are now."""

    def __init__(
        self, spark: SparkSession, spec: Pipeline, settings: Settings, question: Question
    ) -> None:
        self._spark, self._spec, self._settings, self._question = spark, spec, settings, question
        self._paths = Paths(settings.root, spec)
        kept = {Place(*at): reason for *at, reason in question.aside}
        self._aside = read_failing(self._paths.failing).reasons.beside(kept)

    def by_key(self) -> DataFrame:
        question = self._question
        found = self._flow(question.beside, max(question.asked), {}).by_decoder
        return found.where(F.expr(question.key)).select(*columns(found)).limit(question.most)

    def of_places(self) -> DataFrame:
        """A row of each place with a record, and of each copy of one."""
        asked = self._question.asked.items()
        told = (rows for batch, parts in asked for rows in self._told(parts, batch))
        rows = reduce(DataFrame.unionAll, told)
        keys = step.state_key(None) if (step := deduplicates(self._spec)) else ()
        if self._question.beside and keys != ():
            rows = rows.unionAll(self._copies(max(self._question.asked), rows, keys))
        others = (F.max(name).alias(name) for name in TOLD if name != ROW)
        return rows.groupBy(*PLACE).agg(*others, F.first(ROW, ignorenulls=True).alias(ROW))

    def _told(self, parts: Parts, batch: int) -> Iterator[DataFrame]:
        """How far each came, why it is malformed, and at last the row that entered."""
        spec, flow = self._spec, self._flow(parts, batch, self._aside)
        good = good_records(flow.classified, spec.inputs)
        *before, last = [good, *stages(good, spec, flow.sides)]
        row, nothing = _row(last), F.lit(None).cast("string")
        no_row = F.lit(None).cast(last.select(row.alias(ROW)).schema[ROW].dataType)
        ruled = by_rules.told(spec.inputs) if by_rules.has_rules(spec.inputs) else nothing
        dropped = F.when(by_rules.fails_one(spec.inputs, "drop"), ruled)
        clock = F.lit(CLOCK) if asks_for_the_time(last) else nothing
        yield _rows(flow.classified, DROPPED, no_row, F.col(MALFORMED), dropped, clock)
        yield from (_rows(f, n, no_row, nothing, nothing, clock) for n, f in enumerate(before))
        yield _rows(last, len(before), row, nothing, nothing, clock)

    def _copies(self, batch: int, asked: DataFrame, keys: tuple[str, ...] | None) -> DataFrame:
        """The rows that entered, of the records with the key of one that is asked for."""
        entered = self._flow(self._question.beside, batch, self._aside).stateful_input
        nothing = F.lit(None).cast("string")
        rows = _rows(entered, 0, _row(entered), nothing, nothing, nothing)
        names = [*(keys or (field.name for field in rows.select(f"{ROW}.*").schema))]
        wanted = asked.where(F.col(ROW).isNotNull()).select(
            *(F.col(f"{ROW}.`{name}`").alias(own(name)) for name in names)
        )
        same = (F.col(f"{ROW}.`{name}`").eqNullSafe(F.col(own(name))) for name in names)
        return rows.join(F.broadcast(wanted.distinct()), reduce(and_, same), "left_semi")

    def _flow(self, parts: Parts, batch: int, aside: Mapping[Place, str]) -> Dataflow:
        """No record ends it, neither one that a rule refuses nor one that is put aside."""
        spec, settings = self._spec, self._settings
        known = (self._paths.root, spec.inputs, self._question.topic_id, source_of(spec, settings))
        records = records_at(self._spark, *known, self._question.earliest, parts)
        sides = inputs_of(batch, Checkpoint(self._paths.checkpoint), spec, settings)
        return dataflow(
            records, spec, settings, sides, clock_ms=END_OF_TIME_MS,
            failing=aside, refusing=False,
        )  # fmt: skip


def _row(entered: DataFrame) -> Column:
    return F.struct(*(f"`{name}`" for name in entered.columns if name != KAFKA))


def _rows(frame: DataFrame, *told: Column | int) -> DataFrame:
    named = zip(told, TOLD, strict=True)
    return frame.select(*columns(frame), *(F.lit(each).alias(name) for each, name in named))
