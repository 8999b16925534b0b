"""By Spark: what the steps before state make of records, by the drain's own dataflow; and for which
records of a topic a condition holds. The application's half; ask.py is the half of whoever asks.
"""

from __future__ import annotations

import json
import re
from functools import reduce
from itertools import chain
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession, functions as F

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.pins import inputs_of
from spark_jobs.dataflow import Dataflow, as_records, dataflow
from spark_jobs.decode.decoder import decode
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.launch.question import QUESTION, Failed, put_rows
from spark_jobs.launch.session import session
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.offsets.archived import archive_records, archived_or_why, at_exactly, located
from spark_jobs.repair.offsets.slices import in_few
from spark_jobs.source.place import PLACE, Place
from spark_jobs.source.place_columns import columns
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Archive
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps import by_rules
from spark_jobs.steps.catalyst import asks_for_the_time
from spark_jobs.steps.chain import stages
from spark_jobs.steps.classify import good_records
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.root.store import opened
from spark_jobs.values.own_columns import EMPTY, KAFKA, MALFORMED, own
from spark_jobs.where import ask
from spark_jobs.where.ask import CLOCK, DROPPED, ROW, TOLD, Question, deduplicates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import Column
    from upath import UPath

    from spark_jobs.messages.job import Where
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import Source
    from spark_jobs.source.positions import Parts, Positions
    from spark_jobs.spec import Pipeline

END_OF_TIME_MS: Final = 253_402_300_799_000
"""A clock by which nothing is premature: what was so in its batch is kept, and known."""
HOLDS: Final = own("holds")
BESIDE: Final = {
    # Of several headers with one name the last: a map takes no key twice.
    "header": (
        "map_from_entries(transform(filter(kafka.raw.headers, (h, i) -> NOT exists(slice("
        "kafka.raw.headers, i + 2, size(kafka.raw.headers)), o -> o.key = h.key)), "
        "h -> struct(h.key, cast(h.value AS string))))"
    ),
    "key": "cast(kafka.raw.key AS string)",
    "timestamp": "kafka.timestamp",
    "partition": "kafka.partition",
    "offset": "kafka.offset",
}
"""What a condition of a topic's records may name beside the fields; a field of such a name is the
field.
"""
_CONDITION: Final = re.compile(r"\[[A-Z][A-Z0-9_.]+\] [^\n]+")


def tell(job: Where, spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Prints nothing: the answer is files."""
    folder = Path(job.folder)
    question = Question.model_validate_json((folder / QUESTION).read_text())
    spark = session(spec.name, spec.state, settings.root)
    try:
        if question.topic:
            table = _of_topic(spark, spec, settings, question)
        else:
            answer = _Answer(spark, spec, settings, question)
            table = (answer.by_key() if question.key else answer.of_places()).toArrow()
    except Failed as failed:
        (folder / ask.FAILED).write_text(failed.why)
    except (PySparkException, Py4JJavaError) as error:
        text = str(error).strip()
        said = _CONDITION.search(text)  # behind the wrappers of Python's client
        (folder / ask.FAILED).write_text(said[0] if said else text.splitlines()[0])
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
        question = self._question
        found = self._flow(question.beside, max(question.asked), {}).by_decoder
        return found.where(F.expr(question.key)).select(*columns(found)).limit(question.most)

    def of_places(self) -> DataFrame:
        """A row of each place with a record, and of each copy of one."""
        each = (self._told(parts, batch) for batch, parts in self._question.asked.items())
        rows = reduce(DataFrame.unionAll, chain.from_iterable(each))
        keys = step.state_key(None) if (step := deduplicates(self._spec)) else ()
        if self._question.beside and keys != ():
            rows = rows.unionAll(self._copies(max(self._question.asked), rows, keys))
        told = (F.max(name).alias(name) for name in TOLD if name != ROW)
        return rows.groupBy(*PLACE).agg(*told, F.first(ROW, ignorenulls=True).alias(ROW))

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
        known = (self._paths.root, spec.inputs, self._topic_id, source_of(spec, settings))
        records = _records_at(self._spark, *known, self._question.earliest, parts)
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


def _of_topic(
    spark: SparkSession, spec: Pipeline, settings: Settings, question: Question
) -> pa.Table:
    """Within TryEval, so no record makes the query fail. Raises Failed for what is no condition."""
    topic = spec.inputs.of_place(question.topic)
    source = source_of(archive_spec(topic, Archive()), settings)  # which reads headers
    known = (opened(settings.root), Topics([topic]), question.topic_id, source)
    records = _records_at(spark, *known, question.earliest, question.beside)
    prepared = prepare(topic, settings.root, settings)
    records = as_records(records.select(KAFKA), Topics([topic]), prepared, headers=True)
    decoded = decode(records, [prepared], headers=True)
    # Spark tells no `Key` from `key`.
    fields = {name.lower() for name in topic.columns}
    beside = {name: F.expr(sql) for name, sql in BESIDE.items() if name not in fields}
    seen, condition = decoded.withColumns(beside), F.expr(question.key)
    if why := by_rules.why_no_condition(seen, condition, question.key):
        raise Failed(1, why)
    time, counts = F.col(topic.event_time), Observation()
    # An empty list has a row, which is no record.
    empty = F.col("kafka.element").eqNullSafe(EMPTY) if topic.each else F.lit(False)
    within = F.col(MALFORMED).isNull() & (time >= question.start) & (time < question.end)
    holds = F.when(within, by_rules.tried(spark, F.coalesce(condition, F.lit(False))))
    fails = within & F.col(HOLDS).isNull()
    table = (
        seen.withColumn(HOLDS, holds)
        .observe(
            counts,
            F.count(F.lit(1)).alias("read"),
            F.count_if(F.col(MALFORMED).isNotNull() & ~empty).alias("undecoded"),
            F.count_if(F.col("kafka.raw.headers").isNull()).alias("headerless"),
            F.count_if(fails).alias("fails"),
            F.min(F.when(fails, F.struct("kafka.partition", "kafka.offset"))).alias("first"),
        )
        .where(HOLDS)
        .select(*columns(seen), F.unix_micros(time).alias(ask.AT))
        .limit(question.most)  # with fewer all are read, and counted
        .toArrow()
    )
    return table.replace_schema_metadata({ask.COUNTS: json.dumps(counts.get)})


def _records_at(
    spark: SparkSession,
    root: UPath,
    inputs: Topics,
    topic_id: str,
    source: Source,
    earliest: Positions,
    parts: Parts,
) -> DataFrame:
    """Column kafka of the records at these offsets, wherever they are now."""
    has, _ = archived_or_why(root, inputs, topic_id)
    where = located(in_few(parts), has, earliest)
    return at_exactly(spark, source, where, archive_records(root, inputs, topic_id), parts)
