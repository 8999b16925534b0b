"""Contents: what all state stores of a batch hold, as sums, so that two batches can be compared.

It reads the bytes of keys and values, of every column family: variables, timers and their indexes.
Spark yields each value of a ListState as a row of its own (iteratorWithMultiValues), so the order
of a list's values is not in the sums. Its repartition keeps it: one task reads a key's values in
their order, and one writes them. tests/spark/test_repartition.py compares the lists.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import SparkSession, functions as F

from spark_jobs.state.reader import operators
from spark_jobs.storage.root.path_forms import SparkPath


class StepContents(NamedTuple):
    """The state of one stateful operator, in all its stores."""

    rows: int
    """Of all column families: an entry of a variable's index is one too."""
    digest: int
    """The sum of the rows' hashes: the same in any order, and for any number of stores."""
    misplaced: int
    """Rows that are in another store than the one in which the next batch looks for their key."""


Contents = dict[int, StepContents]
"""Spark's number of the operator -> what it holds."""


def contents(spark: SparkSession, checkpoint: SparkPath, batch: int, partitions: int) -> Contents:
    """What the stores hold after a committed batch, which has so many `partitions`.

    Reads the whole state, with the option of the source by which Spark's own repartition reads it.
    """
    found: Contents = {}
    for operator in operators(spark, checkpoint, batch):
        stored = (
            spark.read.format("statestore")
            .option("batchId", batch)
            .option("operatorId", operator.id)
            .option("_readAllColumnFamilies", "true")
            .load(checkpoint)
        )
        digest = F.xxhash64("column_family_name", "key_bytes", "value_bytes")
        # As a shuffle does, by whose partitions the stores are numbered.
        home = F.pmod(F.hash("partition_key"), F.lit(partitions))
        rows = stored.select(
            digest.cast("decimal(38,0)").alias("digest"),
            (home != F.spark_partition_id()).alias("misplaced"),
        )
        summed = rows.select(
            F.count(F.lit(1)).alias("rows"),
            F.sum("digest").alias("digest"),
            F.count_if("misplaced").alias("misplaced"),
        ).collect()[0]
        found[operator.id] = StepContents(
            int(summed["rows"]), int(summed["digest"] or 0), int(summed["misplaced"])
        )
    return found
