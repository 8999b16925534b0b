"""A file as a dimension: what is read of it, and that it is what was noted."""

import os
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyarrow import parquet

from spark_jobs.errors import DimensionUnfit
from spark_jobs.side import of_file, versions
from spark_jobs.side.dimension import DimensionSide
from spark_jobs.spec import Dimension, Field
from tests.harness.refused import fails, has
from tests.unit.test_dimension import FIRST, File, Here


def read(file: Path, kind: str) -> list[Any]:
    """A column `r` of a file, by the version that is noted now."""
    fields = (Field(name="r", type=kind, required=False),)
    side = DimensionSide(
        Dimension(name="of", table=str(file), key=("id",), fields=fields), Here(str(file.parent))
    )
    found: list[Any] = side._read(side.now()).column("r").to_pylist()  # noqa: SLF001 - as above
    return found


VALUES = {
    "decimal(38,19)": ("0.1234567890123456789", Decimal("0.1234567890123456789")),
    "decimal(10,8)": ("0.00000012", Decimal("0.00000012")),
    "double": ("1e3", 1000.0),
    "array<decimal(4,2)>": ("[1.5, null]", [Decimal("1.50"), None]),
    "array<date>": ('["2026-01-01"]', [FIRST.date()]),
    "map<string,array<int>>": ('{"a": [1]}', [("a", [1])]),
    "struct<a:double,b:string>": ('{"a": 1, "c": 2}', {"a": 1.0, "b": None}),
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_of_json_is_read_with_all_its_digits_and_parts(tmp_path, kind):
    written, value = VALUES[kind]
    file = tmp_path / "of.jsonl"
    file.write_text(f'{{"id": "a", "r": {written}}}\n', encoding="utf-8-sig")
    assert read(file, kind) == [value]


NO_VALUES = {
    "array<int>": "[1.5]",
    "array<string>": "[1]",
    "array<bigint>": '{"a": 1}',
    "array<timestamp>": '["soon"]',
    "struct<a:int>": '{"a": "x"}',
    "map<string,boolean>": '{"a": 1}',
    "string": '"\\ud800"',
    "double": "NaN",
}


@pytest.mark.parametrize("kind", NO_VALUES)
def test_a_value_of_json_that_has_a_part_of_another_type_is_refused_with_its_line(tmp_path, kind):
    file = tmp_path / "of.jsonl"
    file.write_text(f'{{"id": "a", "r": {NO_VALUES[kind]}}}\n')
    with fails(DimensionUnfit, "no_value", line=1, column="r", declared=kind):
        read(file, kind)


def test_a_column_that_a_file_has_twice_is_refused(tmp_path):
    twice = {"csv": "id,r,r\na,1,2\n", "jsonl": '{"id": "a", "r": "1", "r": "2"}\n', "parquet": ""}
    for suffix, content in twice.items():
        file = tmp_path / f"of.{suffix}"
        if content:
            file.write_text(content)
        else:
            parquet.write_table(pa.table([["a"], ["1"], ["2"]], names=["id", "r", "r"]), file)
        with fails(DimensionUnfit, "unreadable", place=file, error=has("'r' is there twice")):
            read(file, "string")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_that_is_written_after_its_version_was_noted_is_not_read_as_that(tmp_path, suffix):
    of, stat = File(tmp_path, suffix), None
    for region in "xy":
        rows = {"id": [1], "region": [region], "rate": ["1.50"], "opened": [FIRST]}
        if suffix == "csv":
            of.path.write_text(f"id,region,rate,opened\n1,{region},1.50,\n")
        else:
            table = pa.table(rows)
            rates = table["rate"].cast(pa.decimal128(4, 2))
            parquet.write_table(table.set_column(2, "rate", rates), of.path)
        if stat is None:
            pin, stat = of.side.now(), of.path.stat()
    os.utime(of.path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert of.path.stat().st_size == stat.st_size
    with fails(DimensionUnfit, "replaced", place=of.path):
        of.side.finder(pin)
    of.path.unlink()
    with pytest.raises(DimensionUnfit):
        of.side.finder(pin)


def test_what_a_batch_has_read_of_a_file_stays_readable_until_nobody_can_tell(tmp_path):
    file = tmp_path / "of.csv"
    fields = (Field(name="r", type="string", required=False),)
    declared = Dimension(name="of", table=str(file), key=("id",), fields=fields)
    side = DimensionSide(declared, Here(str(tmp_path / "root")))
    versions = side._versions  # noqa: SLF001 - which reads without Spark
    file.write_text("id,r\na,1\n")
    read_by_a_batch = side.now()
    versions.keep(read_by_a_batch)
    [kept] = (tmp_path / "root" / "sides").iterdir()
    os.utime(kept, (0, 0))
    versions.keep(read_by_a_batch)
    assert time.time() - kept.stat().st_mtime < 60, "`sluice maintain` goes by it"
    file.write_text("id,r\na,2\n")
    seen_by_a_plan = side.now()
    file.unlink()
    assert (side.has(read_by_a_batch), side.has(seen_by_a_plan)) == (True, False)
    file.write_text("id,r\na,3\n")
    with fails(DimensionUnfit, "replaced", name="of"):
        versions.keep(seen_by_a_plan)
    rows = versions.read(read_by_a_batch, declared.columns).to_pylist()
    assert rows == [{"id": "a", "r": "1"}]


def test_more_rows_than_the_driver_has_room_for_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "of.csv"
    file.write_text("id,r\n" + "a,b\n" * 50)
    monkeypatch.setattr(of_file, "MOST_OF_A_FILE", 100)
    with fails(DimensionUnfit, "too_large", name="of", most=100):
        read(file, "string")
    place = str(tmp_path / "of")
    deltalake.write_deltalake(place, pa.table({"id": ["a" * 200], "r": ["b"]}))
    monkeypatch.setattr(versions, "MOST", 100)
    with fails(DimensionUnfit, "too_large", name="of", most=100):
        read(Path(place), "string")
