"""By Spark: what the steps before state make of records, by the drain's own dataflow, in one job.

The application's half; ask.py is the half of whoever asks.
"""

from __future__ import annotations

import re
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as F

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.dataflow import Dataflow, dataflow
from spark_jobs.launch.question import QUESTION, put_rows
from spark_jobs.launch.session import session
from spark_jobs.side.pins import inputs_of
from spark_jobs.source.place import Place
from spark_jobs.source.sources import source_of
from spark_jobs.steps import by_rules
from spark_jobs.steps.catalyst import asks_for_the_time
from spark_jobs.steps.chain import stages
from spark_jobs.steps.classify import good_records
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.own_columns import KAFKA, MALFORMED, OFFSET, PARTITION, own
from spark_jobs.where.ask import (
    BY_CLOCK,
    COUNTS,
    DROPPED,
    ELEMENT,
    FAILED,
    REACHED,
    ROW,
    RULES,
    WHY,
    Question,
    deduplicates,
)
from spark_jobs.where.of_topic import NoCondition, of_topic, place, records_at

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
            table, counts = of_topic(spark, spec, settings, question)
            (folder / COUNTS).write_text(counts.model_dump_json())
        else:
            answer = _Answer(spark, spec, settings, question)
            table = (answer.by_key() if question.key else answer.of_places()).toArrow()
    except NoCondition as error:
        (folder / FAILED).write_text(str(error))
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
        known = read_identity(self._paths)
        assert known is not None
        self._topic_id = known.topic_id
        kept = {Place(*at): reason for *at, reason in question.aside}
        self._aside = read_failing(self._paths.failing).reasons.beside(kept)

    def by_key(self) -> DataFrame:
        found = self._flow(self._question.beside, max(self._question.asked), {}).by_decoder
        return (
            found.where(F.expr(self._question.key)).select(*place(found)).limit(self._question.most)
        )

    def of_places(self) -> DataFrame:
        """A row of each place with a record, and of each copy of one."""
        each = (self._told(parts, batch) for batch, parts in self._question.asked.items())
        rows = reduce(DataFrame.unionAll, chain.from_iterable(each))
        keys = step.state_key(None) if (step := deduplicates(self._spec)) else ()
        if self._question.beside and keys != ():
            rows = rows.unionAll(self._copies(max(self._question.asked), rows, keys))
        return rows.groupBy(PARTITION, OFFSET, ELEMENT).agg(
            *(F.max(name).alias(name) for name in (REACHED, WHY, RULES, BY_CLOCK)),
            F.first(ROW, ignorenulls=True).alias(ROW),
        )

    def _told(self, parts: Parts, batch: int) -> list[DataFrame]:
        """How far each came (read.Seen), why it is malformed, and at last the row that entered."""
        spec, flow = self._spec, self._flow(parts, batch, self._aside)
        good, nothing = good_records(flow.classified, spec.inputs), F.lit(None).cast("string")
        ruled = by_rules.told(spec.inputs) if by_rules.has_rules(spec.inputs) else nothing
        dropped = F.when(by_rules.fails_one(spec.inputs, "drop"), ruled)
        *before, last = [good, *stages(good, spec, flow.sides)]
        row, by_clock = _row(last), F.lit(asks_for_the_time(last))
        no_row = F.lit(None).cast(last.select(row).schema[ROW].dataType).alias(ROW)
        return [
            _told(flow.classified, DROPPED, F.col(MALFORMED), dropped, by_clock, no_row),
            *(_told(f, n, nothing, nothing, by_clock, no_row) for n, f in enumerate(before)),
            _told(last, len(before), nothing, nothing, by_clock, row),
        ]

    def _copies(self, batch: int, asked: DataFrame, keys: tuple[str, ...] | None) -> DataFrame:
        """The rows that entered, of the records with the key of one that is asked for."""
        entered, nothing = (
            self._flow(self._question.beside, batch, self._aside).stateful_input,
            F.lit(None),
        )
        of = (nothing.cast("string"), nothing.cast("string"), F.lit(None).cast("boolean"))
        rows = _told(entered, 0, *of, _row(entered))
        names = [*(keys or (field.name for field in rows.select(f"{ROW}.*").schema))]
        wanted = asked.where(F.col(ROW).isNotNull()).select(
            *(F.col(f"{ROW}.`{name}`").alias(own(name)) for name in names)
        )
        same = (F.col(f"{ROW}.`{name}`").eqNullSafe(F.col(own(name))) for name in names)
        alike = reduce(lambda one, other: one & other, same)
        return rows.join(F.broadcast(wanted.distinct()), alike, "left_semi")

    def _flow(self, parts: Parts, batch: int, aside: Mapping[Place, str]) -> Dataflow:
        """No record ends it, neither one that a rule refuses nor one that is put aside."""
        spec, settings = self._spec, self._settings
        known = (self._paths.root, spec.inputs, self._topic_id, source_of(spec, settings))
        records = records_at(self._spark, *known, self._question.earliest, parts)
        sides = inputs_of(batch, Checkpoint(self._paths.checkpoint), spec, settings)
        return dataflow(
            records, spec, settings, sides, clock_ms=END_OF_TIME_MS,
            failing=aside, refusing=False,
        )  # fmt: skip


def _row(entered: DataFrame) -> Column:
    return F.struct(*(f"`{name}`" for name in entered.columns if name != KAFKA)).alias(ROW)


def _told(
    frame: DataFrame, reached: int, why: Column, rules: Column, by_clock: Column, row: Column
) -> DataFrame:
    return frame.select(
        *place(frame), F.lit(reached).alias(REACHED), why.alias(WHY), rules.alias(RULES),
        by_clock.alias(BY_CLOCK), row.alias(ROW),
    )  # fmt: skip
