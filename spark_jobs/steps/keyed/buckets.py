"""Buckets: the keys of which one task of Spark makes the rows at a time, by the function that the
driver calls for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from spark_jobs.steps.keyed.merge import standing
from spark_jobs.values.own_columns import own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from spark_jobs.spec.steps.following import Following

IN_A_BUCKET: Final = 100_000
BYTES_IN_A_BUCKET: Final = 200_000_000
"""Changes that one task makes into rows at a time."""
_KNOWN: Final = own("known")


def buckets_of(rows: int, in_bytes: int = 0) -> int:
    """How many hold so many changes."""
    return max(1, -(-rows // IN_A_BUCKET), -(-in_bytes // BYTES_IN_A_BUCKET))


def in_buckets(
    known: DataFrame,
    changes: DataFrame,
    step: Following,
    buckets: int,
    make: Callable[[pa.Table, pa.Table], pa.Table],
    schema: StructType,
) -> DataFrame:
    """What `make` gives of the table's rows and the changes of the keys in each bucket."""
    columns = [list(each.columns) for each in (known, changes)]
    sides = [each.withColumn(_KNOWN, F.lit(of)) for each, of in ((known, True), (changes, False))]
    both = sides[0].unionByName(sides[1], allowMissingColumns=True)
    keys = [F.col(f"`{name}`") for name in step.keys]

    def of_bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if given := [*batches]:
            rows = pa.Table.from_batches(given)
            parts = (rows.filter(rows[_KNOWN]), rows.filter(pc.invert(rows[_KNOWN])))
            made = make(*(part.select(names) for part, names in zip(parts, columns, strict=True)))
            yield from made.select(schema.names).to_batches(max_chunksize=10_000)

    tasks = int(str(both.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    return both.repartition(buckets, *keys).mapInArrow(of_bucket, schema).coalesce(tasks)


def rows_of_keys(changes: DataFrame, known: DataFrame, step: Following, most: int) -> DataFrame:
    """All rows of these keys, with the table's columns. `known` are rows of the table, which are
    changes too. There are so many changes at most.
    """
    said = {
        each.name: F.col(f"`{each.name}`")
        if each.name in changes.columns
        else F.lit(None).cast(each.dataType).alias(each.name)
        for each in known.schema
        if each.name not in step.spans
    }

    def make(there: pa.Table, given: pa.Table) -> pa.Table:
        return standing(there, given, step)

    changes = changes.select(*said.values())
    return in_buckets(known, changes, step, buckets_of(most), make, known.schema)
