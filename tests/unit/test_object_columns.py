"""Values in Python to columns: what a record gets is its own affair, whatever is beside it."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from spark_jobs.decode.schemed.objects import of_values
from spark_jobs.spec import Field, Local
from tests.harness.long_form import examples

FIELDS: list[tuple[str, str | Local | None]] = [
    *((kind, None) for kind in ("string", "smallint", "bigint", "float", "double", "boolean")),
    *((kind, None) for kind in ("binary", "timestamp", "timestamp_ntz", "date", "decimal(5,2)")),
    *((kind, None) for kind in ("array<bigint>", "map<string,bigint>", "struct<a:string>")),
    *(("timestamp", unit) for unit in ("s", "ms", "us", "ns")),
    ("timestamp_ntz", "ms"), ("date", "days"), ("decimal(5,2)", "base64"),
    ("date", Local(pattern="%d.%m.%Y")), ("bigint", "text"), ("string", "json"),
]  # fmt: skip
CLOCK = datetime(2026, 1, 1)  # noqa: DTZ001 - without a zone
VALUES = st.sampled_from(
    [
        None, 0, 1, -(2**15), 2**31, -(2**63), 2**63, 10**30, True, 1.5, float("inf"), float("nan"), 1e39,
        "", "1", "x", "2026-01-01", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00", "01.01.2026",
        "AQ==", "0001-01-01T00:00:00+01:00", b"", b"1", Decimal("1.5"), Decimal("1.555"), Decimal(10) ** 20,
        CLOCK, CLOCK.replace(tzinfo=UTC), date(2026, 1, 1), [], [1], ["a"], {}, {"a": 1}, {"a": "x"},
    ]
)  # fmt: skip


def read(values: list[Any], field: Field) -> list[tuple[object, bool]]:
    """Each value as text, or None where it is wrong; and whether it is."""
    column = of_values(values, field)
    found = column.array.to_pylist()
    return [
        (None if index in column.wrong else repr(each), index in column.wrong)
        for index, each in enumerate(found)
    ]


@pytest.mark.parametrize(("kind", "format_"), FIELDS)
@settings(max_examples=examples(60), deadline=None)
@given(values=st.lists(VALUES, max_size=5))
@example(values=["2026-01-01T00:00:00Z", CLOCK.replace(tzinfo=UTC), "x"])
@example(values=["2026-01-01T00:00:00", CLOCK])
@example(values=["2026-01-01", date(2026, 1, 1)])
@example(values=["1", 1])
@example(values=[-(2**63), 2**63])
def test_values_together_are_read_as_each_alone(kind, format_, values):
    field = Field(name="x", type=kind, format=format_, required=False)
    assert read(values, field) == [each for value in values for each in read([value], field)]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("double", [2**53, -(2**60), 1.5, 10**22], [2**53 + 1, 2**63 - 1, 10**400]),
        ("float", [2**24, 1.5, float("inf")], [2**24 + 1, 0.1, 1e39, 10**400]),
        ("array<double>", [[2**53]], [[2**53 + 1]]),
    ],
)
def test_no_number_of_a_schema_is_rounded(kind, good, bad):
    found = read([*good, *bad], Field(name="x", type=kind))
    assert [wrong for _, wrong in found] == [False] * len(good) + [True] * len(bad)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_what_is_no_number_is_a_value_of_schemas_that_have_it(kind):
    assert read([float("nan"), 1], Field(name="x", type=kind)) == [("nan", False), ("1.0", False)]


@pytest.mark.parametrize(
    ("kind", "format_", "values"),
    [
        ("timestamp", None, ["2026-01-01T00:00:00Z", CLOCK.replace(tzinfo=UTC)]),
        ("timestamp_ntz", None, ["2026-01-01T00:00:00", CLOCK]),
        ("date", None, ["2026-01-01", date(2026, 1, 1)]),
        ("date", "days", ["20454", 20454]),
    ],
)
def test_a_time_as_text_is_read_beside_a_time(kind, format_, values):
    column = of_values(values, Field(name="x", type=kind, format=format_))
    assert column.wrong == {}
    assert column.array[0] == column.array[1]
