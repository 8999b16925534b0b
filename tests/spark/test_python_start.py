"""What a Python process of Spark's imports when it starts."""

from collections.abc import Iterator

import pyarrow as pa


def test_a_worker_has_pyspark_from_bytecode_that_set_up_has_made(spark):
    """Spark puts its zip of pyspark first on a worker's path, whatever is installed besides."""

    def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark  # noqa: PLC0415 - the worker's

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"file": [pyspark.__file__]})

    [row] = spark.range(0, 1, 1, 1).mapInArrow(place, "file string").collect()
    assert row.file.endswith("/python/lib/pyspark.zip/pyspark/__init__.pyc")
