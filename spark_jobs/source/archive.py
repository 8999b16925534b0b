"""Archive: the records of a topic that its archive keeps, by their places."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.table.tables import own_table
from spark_jobs.values.own_columns import HEADERS
from spark_jobs.values.spans import any_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from upath import UPath

    from spark_jobs.source.positions import Parts


class ArchiveRecords(NamedTuple):
    """Its records of one topic. See port.py. It has no record of an aborted transaction."""

    table: UPath
    topic_id: str
    """An archive also keeps the records of a topic that was deleted and made anew."""

    def read(self, spark: SparkSession, parts: Parts, *, uncommitted: bool = False) -> DataFrame:  # noqa: ARG002 - the port has it
        from pyspark.sql import functions as F  # noqa: PLC0415 - Spark

        table = own_table(self.table)
        rows = table.read(spark, table.version())
        # An older Sluice's archive has times of any year, and no headers.
        millis = "kafka_millis" if "kafka_millis" in rows.columns else "CAST(NULL AS bigint)"
        headers = "headers" if "headers" in rows.columns else f"CAST(NULL AS {HEADERS})"
        wanted = reduce(
            or_,
            (
                (F.col("partition") == partition)
                & (F.col("offset") >= first)
                & (F.col("offset") < stop)
                for partition, ranges in parts.items()
                for first, stop in ranges
            ),
        )
        kafka = F.struct(
            "partition",
            "offset",
            F.col("kafka_timestamp").alias("timestamp"),
            F.expr(millis).alias("millis"),
            F.struct("key", "value", F.expr(headers).alias("headers")).alias("raw"),
        )
        ours = F.col("topic_id") == self.topic_id
        return rows.where(ours & wanted).select(kafka.alias("kafka"))

    def count(self, parts: Parts) -> int:
        if not parts:
            return 0
        where = any_of(
            f'("partition" = {p} AND "offset" >= {first} AND "offset" < {stop})'
            for p, ranges in parts.items()
            for first, stop in ranges
        )
        sql = f"SELECT count(*) AS n FROM t WHERE topic_id = '{self.topic_id}' AND ({where})"
        [row] = own_table(self.table).query(sql).to_pylist()
        found: int = row["n"]
        return found
