"""Records: all records that a plan names, from Kafka, the archive and the ops tables, as the
drain's source has them.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as F

from spark_jobs.contract.micro_batch import Batch
from spark_jobs.contract.paths import archives_root
from spark_jobs.contract.position import Position
from spark_jobs.contract.store import spark_url
from spark_jobs.source import kafka_source
from spark_jobs.source.archive_source import read_archive
from spark_jobs.storage import delta

if TYPE_CHECKING:
    from spark_jobs.contract.paths import Paths
    from spark_jobs.contract.settings import Settings
    from spark_jobs.contract.spec import Pipeline
    from spark_jobs.repair.plan import RepairPlan

PLACE = ["partition", "offset"]


class Fetched(NamedTuple):
    """How many records each source gave, records bigint, once they are read."""

    kafka: Observation
    """From Kafka and from the archive."""
    late: Observation
    quarantine: Observation


def records(
    spark: SparkSession,
    spec: Pipeline,
    settings: Settings,
    paths: Paths,
    plan: RepairPlan,
    fetched: Fetched,
) -> DataFrame:
    """Each record once; of those in quarantine, the ones that the plan names.

    Column: kafka struct<partition, offset, timestamp, raw struct<key, value>, late boolean>; late:
    a drain did not accept it, and its bytes are from ops.late or ops.quarantine.
    """
    late = _rejected(spark, paths, plan, "late")
    quarantined = _rejected(spark, paths, plan, "quarantine")
    places = [part.select(*PLACE) for part in (late, quarantined) if part is not None]
    found = []
    reads = [
        kafka_source.read_batch(spark, spec, settings, Batch(-1, start, end, 0, 0))
        for start, end in rounds(plan.parts)
    ]
    if plan.archived:
        topic, topic_id = spec.topic.name, plan.topic_id
        reads.append(read_archive(spark, archives_root(paths.root), topic, topic_id, plan.archived))
    if reads:
        found.append(_without(_counted(reduce(DataFrame.unionAll, reads), fetched.kafka), places))
    if plan.late and late is not None:
        needed = Position("event_time").sql(plan.needed)
        dropped = _counted(late.where(needed).select(_kept()), fetched.late)
        # A repair has found it bad: it is in quarantine as well.
        found.append(_not_at(dropped, places[1:]))
    if plan.quarantined and quarantined is not None:
        named = quarantined.join(F.broadcast(_named(spark, plan)), PLACE, "left_semi")
        found.append(_counted(named.select(_kept()), fetched.quarantine))
    return reduce(DataFrame.unionAll, found)


def _counted(rows: DataFrame, seen: Observation) -> DataFrame:
    return rows.observe(seen, F.count(F.lit(1)).alias("records"))


def _kept() -> Column:
    """A row of ops.late or ops.quarantine as a record of the source."""
    return F.struct(
        *PLACE,
        F.col("kafka_timestamp").alias("timestamp"),
        F.struct("key", "value").alias("raw"),
        F.lit(True).alias("late"),
    ).alias("kafka")


def _named(spark: SparkSession, plan: RepairPlan) -> DataFrame:
    """The places of the quarantined records that the plan names."""
    places = [(p, offset) for p, offsets in plan.quarantined.items() for offset in offsets]
    columns = [pa.array(each) for each in zip(*places, strict=True)]
    return spark.createDataFrame(pa.table(columns, PLACE))


def _without(rows: DataFrame, places: list[DataFrame]) -> DataFrame:
    """The records of Kafka that are at none of these places."""
    return _not_at(
        rows.select(F.col("kafka").withField("late", F.lit(False)).alias("kafka")), places
    )


def _not_at(rows: DataFrame, places: list[DataFrame]) -> DataFrame:
    for rejected in places:
        rows = (
            rows.select("kafka", "kafka.partition", "kafka.offset")
            .join(F.broadcast(rejected), PLACE, "left_anti")
            .select("kafka")
        )
    return rows


def rounds(
    parts: dict[int, tuple[tuple[int, int], ...]],
) -> list[tuple[dict[int, int], dict[int, int]]]:
    """The reads: a batch query of Spark's Kafka source has one range of offsets a partition.

    >>> rounds({0: ((0, 5), (8, 9)), 1: ((2, 3),)})
    [({0: 0, 1: 2}, {0: 5, 1: 3}), ({0: 8}, {0: 9})]
    """
    most = max(map(len, parts.values()), default=0)
    chosen = [
        {partition: ranges[n] for partition, ranges in parts.items() if n < len(ranges)}
        for n in range(most)
    ]
    return [
        ({p: first for p, (first, _) in one.items()}, {p: last for p, (_, last) in one.items()})
        for one in chosen
    ]


def _rejected(spark: SparkSession, paths: Paths, plan: RepairPlan, table: str) -> DataFrame | None:
    """The pipeline's rows of ops.late or ops.quarantine; None without such a table."""
    path = paths.ops(table)
    if not delta.is_table(path):
        return None
    rows = spark.read.format("delta").load(spark_url(path))
    mine = (F.col("pipeline") == plan.pipeline) & F.col("generation").isin(*plan.generations)
    # A drain after the plan may have added more: those are beyond the plan's offsets.
    return rows.where(mine & (F.col("batch_id") <= plan.batch))
