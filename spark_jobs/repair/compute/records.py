"""Records: all records that a plan names, from Kafka, the archive and the ops tables, as the
drain's source has them.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.repair.compute import kept
from spark_jobs.repair.offsets.archived import archive_records
from spark_jobs.root.path_forms import spark_url
from spark_jobs.source.sources import source_of
from spark_jobs.table.delta.few_rows import to_spark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upath import UPath

    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.root.paths import Paths
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline


class Fetched(NamedTuple):
    """How many records each source gave, records bigint, once they are read."""

    kafka: Observation
    """From Kafka and from the archive."""
    late: Observation
    quarantine: Observation
    used: Observation
    """The first ones, without those that ops.late and ops.quarantine keep aside."""
    late_used: Observation
    """The late ones likewise."""

    @classmethod
    def unread(cls) -> Fetched:
        return cls(*(Observation() for _ in cls._fields))


def records(
    spark: SparkSession,
    spec: Pipeline,
    settings: Settings,
    paths: Paths,
    plan: RepairPlan,
    fetched: Fetched,
) -> DataFrame:
    """Each record once; of those in quarantine, the ones that the plan names. The caller removes
    the files that it writes (kept.remove) when the records are read.

    Column: kafka struct, as source/port.py has it, and in it late boolean: a drain did not
    accept the record, and its bytes are from ops.late or ops.quarantine.
    """
    found, has = [], kept.write(paths, plan)
    archive = archive_records(paths.root, spec.topic, plan.topic_id)
    reads = [
        source.read(spark, parts)
        for source, parts in ((source_of(spec, settings), plan.parts), (archive, plan.archived))
        if parts
    ]
    if reads:
        all_read = _counted(reduce(DataFrame.unionAll, reads), fetched.kafka)
        places, aside = (_places(spark, path) for path in (has.places, has.aside))
        used = _counted(_not_at(_of_source(all_read), aside), fetched.used)
        found.append(_not_at(used, places))
    if has.late is not None:
        late = _counted(_file(spark, has.late, kept.RECORD).select(_record()), fetched.late)
        bad, named = (_places(spark, path) for path in (has.bad, has.named))
        found.append(_not_at(_counted(_not_at(late, bad), fetched.late_used), named))
    if has.quarantine is not None:
        named = _file(spark, has.quarantine, kept.RECORD).select(_record())
        found.append(_counted(named, fetched.quarantine))
    return reduce(DataFrame.unionAll, found)


def _counted(rows: DataFrame, seen: Observation) -> DataFrame:
    return rows.observe(seen, F.count(F.lit(1)).alias("records"))


def _record() -> Column:
    return F.struct(
        *kept.PLACE,
        F.col("kafka_timestamp").alias("timestamp"),
        F.col("kafka_millis").alias("millis"),
        F.struct("key", "value", "headers").alias("raw"),
        F.lit(True).alias("late"),
    ).alias("kafka")


def _file(spark: SparkSession, path: UPath, columns: Iterable[str]) -> DataFrame:
    schema = from_arrow_schema(kept.arrow_schema(columns))
    if (rows := kept.few(path)) is not None:
        return to_spark(spark, rows, schema)
    # A root may have brackets in its name, which are no pattern.
    reader = spark.read.schema(schema).option("__globPaths__", "false")
    return reader.parquet(spark_url(path))


def _of_source(rows: DataFrame) -> DataFrame:
    return rows.select(F.col("kafka").withField("late", F.lit(False)).alias("kafka"))


def _places(spark: SparkSession, path: UPath | None) -> DataFrame | None:
    return None if path is None else _file(spark, path, kept.PLACE)


def _not_at(rows: DataFrame, places: DataFrame | None) -> DataFrame:
    if places is None:
        return rows
    return (
        rows.select("kafka", *(f"kafka.{name}" for name in kept.PLACE))
        .join(F.broadcast(places), [*kept.PLACE], "left_anti")
        .select("kafka")
    )
