"""The driver collects no batch beyond its bounds, whatever its records are like."""

import pytest
from pyspark.sql import functions as F

from spark_jobs.sink.keyed import driver
from spark_jobs.sink.keyed.driver import held, load, takes_changes

ROWS, LENGTH = 200, 10_000


@pytest.fixture
def rows(spark):
    """Each of the same long text, which the cache compresses to nearly nothing."""
    return spark.range(ROWS).withColumn("text", F.repeat(F.lit("x"), LENGTH))


@pytest.mark.parametrize(
    ("bound", "most", "taken"),
    [
        ("MOST_CHANGES", ROWS, True),
        ("MOST_CHANGES", ROWS - 1, False),
        ("MOST_BYTES", ROWS * LENGTH * 2, True),
        ("MOST_BYTES", ROWS * LENGTH, False),
    ],
)
def test_a_batch_is_collected_up_to_so_many_rows_and_bytes(rows, monkeypatch, bound, most, taken):
    monkeypatch.setattr(driver, bound, most)
    with held(rows) as changes:
        assert takes_changes(load(changes)) == taken
        assert changes.is_cached
    assert not changes.is_cached
