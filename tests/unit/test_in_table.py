"""The rows that a record is in, over a table that delta-rs has written."""

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.spec import Field
from spark_jobs.storage.root.paths import Paths
from spark_jobs.where.ask import Seen, values
from spark_jobs.where.in_table import SHOWN, InTable, equals
from tests.unit.specs import FIELDS, deduplicate, pipeline, topic

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ONE, OTHER = Decimal("1.50"), Decimal("2.50")


def of(folder: Path, kind: str, *amounts: object) -> tuple[InTable, list[Seen]]:
    """A table whose rows are alike but for a column, and their records."""
    fields = (*FIELDS[:3], Field(name="amount", type=kind, required=False))
    spec = pipeline(topic=topic(fields=fields), steps=(deduplicate(keys=("id", "amount")),))
    paths = Paths(str(folder), spec)
    types = {"double": pa.float64(), "decimal(9,2)": pa.decimal128(9, 2), "binary": pa.binary()}
    rows = pa.table(
        {
            "id": ["a"] * len(amounts),
            "at": pa.array([AT] * len(amounts), pa.timestamp("us", "UTC")),
            "shop": ["s"] * len(amounts),
            "amount": pa.array(amounts, types[kind]),
        }
    )
    deltalake.write_deltalake(str(paths.table), rows)
    return InTable(spec, paths, ()), [Seen(0, row) for row in values(rows)]


@pytest.mark.parametrize(
    ("kind", "amounts"),
    [
        ("double", (1.5, 2.5, None)),
        ("decimal(9,2)", (ONE, OTHER, None)),
        ("binary", (b"1", b"2", None)),
    ],
    ids=["double", "decimal", "binary"],
)
def test_rows_that_differ_in_what_only_spark_compares_are_not_the_records(tmp_path, kind, amounts):
    table, records = of(tmp_path, kind, *amounts)
    found = [table.rows((0, offset), record) for offset, record in enumerate(records)]
    assert [[row["amount"] for row in rows] for rows, _ in found] == [[each] for each in amounts]
    assert {why for _, why in found} == {""}


def test_a_record_is_found_behind_more_rows_than_are_shown(tmp_path):
    amounts = [float(number) for number in range(3 * SHOWN)]
    table, records = of(tmp_path, "double", *amounts)
    rows, why = table.rows((0, 0), records[-1])
    assert ([row["amount"] for row in rows], why) == ([amounts[-1]], "")


def test_a_row_with_a_time_that_python_has_not_is_told(tmp_path):
    table, [record] = of(tmp_path, "double", 1.5)
    [log] = tmp_path.rglob("_delta_log")
    whole = deltalake.DeltaTable(log.parent)
    far = pa.array([253_402_300_800_000_000], pa.int64()).cast(pa.timestamp("us", "UTC"))
    rows = pa.table(whole.to_pyarrow_table()).append_column("ends", far)
    deltalake.write_deltalake(whole, rows, mode="overwrite", schema_mode="overwrite")
    [row], why = table.rows((0, 0), record)
    assert (row["ends"], why) == ("+10000-01-01T00:00:00Z", "")


def test_of_copies_those_are_told_that_the_batchs_version_may_have_written(tmp_path):
    table, [one, two] = of(tmp_path, "double", 1.5, 2.5)
    copies = {(0, 0): one.row, (0, 1): two.row, (0, 2): one.row | {"shop": "t"}}
    copies |= {(0, 3): one.row | {"id": "b"}}
    told = [*table.wrote(0, ("id", "amount"), copies).values()]
    assert told == [{(0, 0)}, {(0, 1)}, set()]
    assert [*table.wrote(0, ("id",), {(0, 3): one.row | {"id": "b"}}).values()] == [set()]
    assert [*table.wrote(0, ("id",), {(0, 0): one.row}).values()] == [None], "two rows of the key"
    assert [*table.wrote(None, ("id",), {(0, 0): one.row}).values()] == [set()]


def test_a_day_that_python_has_not_is_compared_as_its_text():
    days = {0: "1970-01-01", 2932896: "9999-12-31", 2932897: "+10000-01-01"}
    assert [equals("d", day, "date") for day in days] == [f"`d` = '{day}'" for day in days.values()]
