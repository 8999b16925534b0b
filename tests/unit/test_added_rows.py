"""Which rows the driver reads itself for the output checks, over small real tables and without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql.types import BooleanType, IntegerType, StringType, StructField, StructType

from spark_jobs.table.arrow_rows import MOST_BYTES, ROWS_AT_ONCE
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.written_rows import _only_adds, _read

if TYPE_CHECKING:
    from upath import UPath

SCHEMA = StructType([StructField("k", StringType()), StructField("n", IntegerType())])


def append(path: UPath, rows: pa.Table) -> int:
    """The version that it makes."""
    write_deltalake(str(path), rows, mode="append")
    return Log.of(path).newest


def some(*keys: str) -> pa.Table:
    return pa.table({"k": [*keys], "n": pa.array(range(len(keys)), pa.int32())})


def test_a_file_that_is_only_noted_again_was_not_added(tmp_path):
    passed = append(tmp_path, some("old"))
    last = append(tmp_path, some("a"))
    assert _only_adds(Log.of(tmp_path).replay(last, passed))
    # By Delta's StatisticsCollection.recompute: every file once more, with "dataChange": false,
    # and nothing removed.
    files = Log.of(tmp_path).replay(last).added.values()
    noted = [{"add": {**file, "dataChange": False}} for file in files]
    assert Log.of(tmp_path).put(last + 1, [{"commitInfo": {}}, *noted])
    made = Log.of(tmp_path).replay(last + 1, passed)
    assert len(made.added) == 2, "the file of before too"
    assert not _only_adds(made)


@pytest.mark.parametrize(
    ("same", "kind"),
    [
        (pa.repeat(pa.scalar("y" * 200), 100_000), StringType()),
        (pa.repeat(pa.scalar(value=True), 2_100_000), BooleanType()),
    ],
)
def test_what_takes_little_in_a_file_and_much_in_memory_is_left_to_spark(tmp_path, same, kind):
    append(tmp_path, pa.table({"v": same}))
    made = Log.of(tmp_path).replay(0)
    assert all(int(file["size"]) < 1_000_000 for file in made.added.values())
    assert _read(tmp_path, made, StructType([StructField("v", kind)])) is None


def test_a_large_file_is_not_opened(tmp_path):
    append(tmp_path, some("old"))
    made = Log.of(tmp_path).replay(0)
    for file in made.added.values():
        (tmp_path / file["path"]).unlink()
        file["size"] = MOST_BYTES + 1
    assert _read(tmp_path, made, SCHEMA) is None


@pytest.mark.parametrize("keys", [(), ("a", "b"), tuple("ab" * ROWS_AT_ONCE)])
def test_the_rows_are_those_of_the_files_however_many(tmp_path, keys):
    passed = append(tmp_path, some("old"))
    append(tmp_path, some(*keys))
    last = append(tmp_path, some("z"))
    read = _read(tmp_path, Log.of(tmp_path).replay(last, passed), SCHEMA)
    both = [*some(*keys).to_pylist(), {"k": "z", "n": 0}]
    assert sorted(map(str, read.to_pylist())) == sorted(map(str, both))
