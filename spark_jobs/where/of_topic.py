"""Of a topic: the records for which a condition holds, whoever has drained them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame, Observation, functions as F

from spark_jobs.dataflow import as_records
from spark_jobs.decode.decoder import decode
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.launch.question import Failed
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.repair.offsets.archived import archive_records, archived_or_why, at_exactly, located
from spark_jobs.repair.offsets.slices import in_few
from spark_jobs.source.place_columns import columns
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Archive
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps import by_rules
from spark_jobs.storage.root.store import opened
from spark_jobs.values.own_columns import EMPTY, KAFKA, MALFORMED, own
from spark_jobs.where.ask import AT, COUNTS, Question

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from upath import UPath

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import Source
    from spark_jobs.source.positions import Parts, Positions
    from spark_jobs.spec import Pipeline

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
"""What a condition may name beside the fields; a field of such a name is the field."""


def of_topic(
    spark: SparkSession, spec: Pipeline, settings: Settings, question: Question
) -> pa.Table:
    """Within TryEval, so no record makes the query fail. Raises Failed for what is no condition."""
    topic = spec.inputs.of_place(question.topic)
    source = source_of(archive_spec(topic, Archive()), settings)  # which reads headers
    known = (opened(settings.root), Topics([topic]), question.topic_id, source)
    records = records_at(spark, *known, question.earliest, question.beside)
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
        .select(*columns(seen), F.unix_micros(time).alias(AT))
        .limit(question.most)  # with fewer all are read, and counted
        .toArrow()
    )
    return table.replace_schema_metadata({COUNTS: json.dumps(counts.get)})


def records_at(
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
