"""Planned: the records of a plan, from Kafka, the archive and the ops tables, as the drain's source
has them.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, Observation, functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.dataflow import as_records
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.repair.compute import kept
from spark_jobs.repair.offsets.archived import archive_records
from spark_jobs.source.place import PLACE, WHOLE
from spark_jobs.source.place_columns import columns
from spark_jobs.source.sources import source_of
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.table.arrow_rows import to_spark

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession
    from upath import UPath

    from spark_jobs.repair.compute.kept import Values
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


class Fetched(NamedTuple):
    """How many records each source gave, records bigint, once they are read."""

    kafka: Observation
    """From Kafka and from the archive: values."""
    records: Observation
    """The records of these."""
    late: Observation
    quarantine: Observation
    used: Observation
    """Those of the source without those that ops.late and ops.quarantine keep aside."""
    late_used: Observation
    """The late ones likewise."""

    @classmethod
    def unread(cls) -> Fetched:
        return cls(*(Observation() for _ in cls._fields))


class Planned(NamedTuple):
    """What is read, and where it is."""

    spark: SparkSession
    spec: Pipeline
    settings: Settings
    paths: Paths
    plan: RepairPlan


def planned(of: Planned, fetched: Fetched) -> DataFrame:
    """Each record once; of those in quarantine, the ones that the plan names. The caller removes
    the files that it writes when the records are read.

    Column: kafka struct, as source/port.py has it, and in it late boolean: a drain did not
    accept the record, and its bytes are from ops.late or ops.quarantine.
    """
    spark, _, _, paths, plan = of
    found, has = [], kept.write(paths, plan)
    if reads := _reads(of):
        all_read = _counted(reduce(DataFrame.unionAll, reads), fetched.kafka)
        places, aside = (_places(spark, path) for path in (has.places, has.aside))
        own = _counted(spread(of, _of_source(all_read)), fetched.records)
        used = _counted(_not_at(own, aside), fetched.used)
        found.append(_not_at(used, places))
    if has.late is not None:
        late = _counted(_meant(of, has.late), fetched.late)
        bad, named = (_places(spark, path) for path in (has.bad, has.named))
        found.append(_not_at(_counted(_not_at(late, bad), fetched.late_used), named))
    if has.quarantine is not None:
        found.append(_counted(_meant(of, has.quarantine), fetched.quarantine))
    return reduce(DataFrame.unionAll, found)


def _reads(of: Planned) -> list[DataFrame]:
    spark, spec, settings, paths, plan = of
    archive = archive_records(paths.root, spec.inputs, plan.topic_id)
    reads_source = plan.parts or plan.current  # of which none may be left
    reads = [source_of(spec, settings).read(spark, plan.parts)] if reads_source else []
    return [*reads, archive.read(spark, plan.archived)] if plan.archived else reads


def values_of(of: Planned, *, named: bool) -> DataFrame:
    """Every value at the plan's offsets, and of late records that it needs; with `named` also of
    quarantined ones that it names.
    """
    has = kept.write(of.paths, of.plan)
    tables = (has.late, has.quarantine if named else None)
    found = [_of_source(each) for each in _reads(of)]
    found += [_valued(of.spark, each.values) for each in tables if each]
    return reduce(DataFrame.unionAll, found)


def _meant(of: Planned, has: Values) -> DataFrame:
    records = spread(of, _valued(of.spark, has.values))
    return at_places(records, _places(of.spark, has.elements), "left_semi")


def spread(of: Planned, values: DataFrame) -> DataFrame:
    """The records in these values, a row each."""
    spec, settings = of.spec, of.settings
    return as_records(values, spec.inputs, prepare(spec.inputs[0], settings.root, settings))


def _valued(spark: SparkSession, path: UPath) -> DataFrame:
    return _file(spark, path, kept.VALUE).select(_record())


def _counted(rows: DataFrame, seen: Observation) -> DataFrame:
    return rows.observe(seen, F.count(F.lit(1)).alias("records"))


def _record() -> Column:
    return F.struct(
        *PLACE[:2],
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
    return None if path is None else _file(spark, path, PLACE)


def _not_at(rows: DataFrame, places: DataFrame | None) -> DataFrame:
    return at_places(rows, places, "left_anti")


def at_places(rows: DataFrame, places: DataFrame | None, how: str) -> DataFrame:
    """Of a whole value all records."""
    if places is None:
        return rows
    # As columns of their own: where `places` is one row of literals, Spark's NestedColumnAliasing
    # loses a struct's field out of an existence join's condition.
    names = [f"own_{name}" for name in PLACE]
    named = rows.select("*", *map(Column.alias, columns(rows), names))
    own, at = ([each[name] for name in of] for each, of in ((named, names), (places, PLACE)))
    same = (own[0] == at[0]) & (own[1] == at[1]) & ((at[2] == WHOLE) | (own[2] == at[2]))
    return named.join(F.broadcast(places), same, how).drop(*names)
