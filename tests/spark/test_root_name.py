"""A root whose name has the characters of a pattern: Spark reads what is there, and nothing beside."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from upath import UPath

from spark_jobs.repair.compute import kept
from spark_jobs.repair.compute.planned import _file


@pytest.mark.parametrize(
    ("name", "matched"), [("a[b]", "ab"), ("a*", "ac"), ("a?", "ad"), ("a{b,c}", "ab")]
)
def test_what_a_repair_keeps_under_such_a_root_is_read_and_no_file_that_the_pattern_would_match(
    spark, tmp_path, monkeypatch, name, matched
):
    monkeypatch.setattr(kept, "few", lambda _: None)
    for folder, offset in ((name, 1), (matched, 2)):
        (tmp_path / folder).mkdir()
        rows = pa.Table.from_pylist(
            [{"partition": 0, "offset": offset}], kept.arrow_schema(kept.PLACE)
        )
        pq.write_table(rows, tmp_path / folder / "places.parquet")
    found = _file(spark, UPath(tmp_path / name / "places.parquet"), kept.PLACE)
    assert [row["offset"] for row in found.collect()] == [1]
