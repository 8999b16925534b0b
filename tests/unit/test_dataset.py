"""What pyarrow reads of a Delta table by a filter: every row that it holds for."""

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.table.delta.door import dataset

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MOMENT = pa.timestamp("us", "UTC")
FAR = 253_402_300_800_000_000
"""The first microsecond of the year 10000."""
INDEXED = "delta.dataSkippingNumIndexedCols"


def rows(**columns: Any) -> pa.Table:
    return pa.table({"k": ["a"], **columns, "at": pa.array([NOON], MOMENT)})


def read(path: Any, where: pc.Expression) -> int:
    return int(dataset(DeltaTable(str(path))).scanner(filter=where).count_rows())


def test_a_file_of_before_the_column_was_indexed(tmp_path):
    write_deltalake(str(tmp_path), rows(), configuration={INDEXED: "1"})
    DeltaTable(str(tmp_path)).alter.set_table_properties({INDEXED: "32"})
    write_deltalake(str(tmp_path), rows(), mode="append")
    assert read(tmp_path, pc.field("at") == pa.scalar(NOON, MOMENT)) == 2
    assert read(tmp_path, pc.field("at") < pa.scalar(NOON, MOMENT)) == 0


def test_a_file_with_a_year_that_python_has_not(tmp_path):
    at = pa.array([int(NOON.timestamp() * 1_000_000), FAR], pa.int64()).cast(MOMENT)
    write_deltalake(str(tmp_path), pa.table({"at": at}))
    assert read(tmp_path, pc.field("at") == pa.scalar(NOON, MOMENT)) == 1
    assert read(tmp_path, pc.field("at") > pa.scalar(NOON, MOMENT)) == 1


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("a b%c/ä", pa.string()),
        ("", pa.string()),
        (-7, pa.int64()),
        (True, pa.bool_()),
        (date(2026, 1, 1), pa.date32()),
        (NOON, MOMENT),
    ],
)
def test_parts_are_columns_by_which_files_are_left_out(tmp_path, value, kind):
    for given in (value, None):
        part = pa.array([given], kind)
        write_deltalake(str(tmp_path), rows(part=part), mode="append", partition_by=["part"])
    found = dataset(DeltaTable(str(tmp_path)))
    by_rust = DeltaTable(str(tmp_path)).to_pyarrow_dataset().to_table()
    assert found.to_table().sort_by("k").equals(by_rust.sort_by("k"))
    empty = value == ""  # Delta knows no empty text as a part: it is null
    assert read(tmp_path, pc.is_null(pc.field("part"))) == 1 + empty
    assert read(tmp_path, pc.field("part") == pa.scalar(value, kind)) == 1 - empty
    left = [*found.get_fragments(filter=pc.is_null(pc.field("part")))]
    assert len(left) == 1 + empty
