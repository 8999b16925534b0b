"""A table with a folder of a date beyond the year 9999, which Spark writes and Python cannot read."""

import json
from datetime import date

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.errors import TableChanged
from spark_jobs.table.delta import door
from tests.harness.refused import fails


def test_a_folder_of_a_far_date_is_refused_in_words_and_the_years_to_9999_are_read(tmp_path):
    table = str(tmp_path)
    days = pa.array([date(1, 1, 1), date(9999, 12, 31)])
    deltalake.write_deltalake(table, pa.table({"k": ["a", "b"], "day": days}), partition_by=["day"])
    assert door.dataset(deltalake.DeltaTable(table)).count_rows() == 2
    far = tmp_path / "day=+12000-01-01" / "x.parquet"
    far.parent.mkdir()
    pq.write_table(pa.table({"k": ["c"]}), far)
    size = far.stat().st_size
    add = {
        "path": "day=%2B12000-01-01/x.parquet", "partitionValues": {"day": "+12000-01-01"},
        "size": size, "modificationTime": 0, "dataChange": True,
    }  # fmt: skip
    entry = tmp_path / "_delta_log" / f"{1:020}.json"
    entry.write_text(json.dumps({"commitInfo": {}}) + "\n" + json.dumps({"add": add}) + "\n")
    with fails(TableChanged, "part_unreadable"):
        door.dataset(deltalake.DeltaTable(table))
