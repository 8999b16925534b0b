"""Condition: the records of a topic that a condition holds for. The application's half of
question.py.

The condition sees what a record decodes to, `header`, `key`, `timestamp`, `partition` and `offset`;
of a field with such a name, the field. It is within TryEval, so no record makes the query fail.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, Observation, functions as F

from spark_jobs.decode.decoder import decode
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.excise.question import MOST, TOLD, Question, Told, topic_of
from spark_jobs.launch.question import QUESTION, put_rows
from spark_jobs.launch.session import session
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.offsets.archived import archive_records, archived_or_why, at_exactly, located
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Archive
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.by_rules import tried, why_no_condition
from spark_jobs.storage.root.store import opened
from spark_jobs.values.own_columns import KAFKA, MALFORMED, own

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from spark_jobs.messages.job import Excise
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline, Topic

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
"""What a condition may name beside the topic's fields."""


def found(job: Excise, spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Prints nothing: the answer is files."""
    folder = Path(job.folder)
    question = Question.model_validate_json((folder / QUESTION).read_text())
    spark = session(spec.name, spec.state, settings.root)
    told, rows = answer(spark, spec, settings, question)
    (folder / TOLD).write_text(told.model_dump_json())
    if rows is not None:
        put_rows(rows, folder)
    yield from ()


def answer(
    spark: SparkSession, spec: Pipeline, settings: Settings, question: Question
) -> tuple[Told, pa.Table | None]:
    """What is told, and the places with event times; none where the condition is refused."""
    topic = topic_of(spec, question.topic)
    decoded = decode(
        _records(spark, topic, settings, question),
        [prepare(topic, settings.root, settings)],
        headers=True,
    )
    # Spark tells no `Key` from `key`.
    fields = {name.lower() for name in topic.columns}
    seen = decoded.withColumns(
        {name: F.expr(sql) for name, sql in BESIDE.items() if name not in fields}
    )
    condition = F.expr(question.where)
    if why := why_no_condition(seen, condition, question.where):
        return Told(refused=why), None
    time, counts = F.col(topic.event_time), Observation()
    within = F.col(MALFORMED).isNull() & (time >= question.start) & (time < question.end)
    holds = F.when(within, tried(spark, F.coalesce(condition, F.lit(False))))
    place = F.struct("kafka.partition", "kafka.offset")
    fails = within & F.col(HOLDS).isNull()
    rows = (
        seen.withColumn(HOLDS, holds)
        .observe(
            counts,
            F.count(F.lit(1)).alias("read"),
            F.count(MALFORMED).alias("undecoded"),
            F.count_if(F.col("kafka.raw.headers").isNull()).alias("headerless"),
            F.count_if(fails).alias("fails"),
            F.min(F.when(fails, place)).alias("first"),
        )
        .where(HOLDS)
        .select(*place_and_time(topic.event_time))
    )
    # All are read, so that the counts are of all.
    table = rows.toArrow()
    first = counts.get["first"]
    told = Told(
        read=counts.get["read"],
        undecoded=counts.get["undecoded"],
        headerless=counts.get["headerless"],
        fails=counts.get["fails"],
        first=tuple(first) if first else None,
    )
    return told, table.slice(0, MOST + 1)


def place_and_time(time: str) -> tuple[F.Column, ...]:
    """The topic's own partition, the offset, and the event time in microseconds since 1970."""
    return F.col("kafka.partition"), F.col("kafka.offset"), F.unix_micros(time).alias("at")


def _records(
    spark: SparkSession, topic: Topic, settings: Settings, question: Question
) -> DataFrame:
    """Column kafka, as source/port.py has it, with headers: as an archive reads them."""
    root, inputs = opened(settings.root), Topics([topic])
    has, _ = archived_or_why(root, inputs, question.topic_id)
    records = at_exactly(
        spark,
        source_of(archive_spec(topic, Archive()), settings),
        located(question.parts, has, question.earliest),
        archive_records(root, inputs, question.topic_id),
        question.parts,
    )
    return records.select(KAFKA)
