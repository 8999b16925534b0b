"""Texts to values: Arrow's casts give what the strict readers give, one text after the other."""

import math

import pytest
from hypothesis import example, given, settings, strategies as st

from spark_jobs.decode.columns.text_column import one_by_one, text_column
from spark_jobs.decode.json.leaf import leaf
from spark_jobs.spec import Field
from spark_jobs.values.conversions import arrow_array
from tests.harness.long_form import examples
from tests.unit.test_text_formats import COLUMNS, FIELDS, Csv, decoding

KINDS = (
    ("smallint", None), ("int", None), ("bigint", "text"), ("float", None), ("double", "text"),
    ("boolean", None), ("decimal(5,2)", None), ("decimal(2,2)", None), ("decimal(38,0)", "text"),
    ("decimal(7,3)", "base64"), ("binary", None), ("date", None), ("date", "days"),
    ("timestamp", None), ("timestamp_ntz", None), ("timestamp", "s"), ("timestamp", "ms"),
    ("timestamp_ntz", "us"), ("timestamp", "ns"),
)  # fmt: skip
TWO = st.integers(0, 99).map("{:02}".format)
ZONES = st.one_of(
    st.sampled_from(["Z", "z", "", "+0100", "-00:00"]), st.builds("+{}:{}".format, TWO, TWO)
)
DATES = st.builds(
    "{}-{}-{}".format, st.sampled_from(["2026", "0001", "0000", "9999", "10000", "26"]), TWO, TWO
)
TIMES = st.builds("{}{}{}:{}:{}{}{}".format, DATES, st.sampled_from("Tt "), TWO, TWO, TWO,
    st.sampled_from(["", ".5", ".123456", ".1234567", "."]), ZONES)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70).map(str),
    st.integers(-70000, 70000).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.floats().map(str),
    st.from_regex(r"[-+]?0?[0-9]{1,4}(\.[0-9]{0,4})?([eE][-+]?[0-9]{1,4})?", fullmatch=True),
)
TEXTS = st.one_of(
    NUMBERS,
    DATES,
    TIMES,
    st.sampled_from(["true", "false", "TRUE", "1", "", " 7", "7\n", "0x1F", "\uff11", "1_000", "nan", "YQ=="]),
    st.text(max_size=5),
)  # fmt: skip


def same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return one == other


@pytest.mark.parametrize(("kind", "format_"), KINDS)
@settings(max_examples=examples(40), deadline=None)
@given(texts=st.lists(st.none() | TEXTS, max_size=6))
@example(texts=["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59.999999-01:00", "2026-02-30"])
@example(texts=["2026-11-26T24:00:00Z", "2026-11-26T10:00:60Z", "2026-11-26T10:00:00+13:59"])
@example(texts=["3.4028235677973366e38", "3.4028234663852886e38", "1e309", "-0", "-0.0", "32768"])
@example(texts=["999.99", "1000.00", "-999.999", "0.1", "-.5", ".25", "00.1", "0E7", None])
def test_a_cast_gives_what_reading_one_by_one_gives(kind, format_, texts):
    field = Field(name="x", type=kind, format=format_, required=False)
    quick, slow = text_column(texts, field), one_by_one(texts, field)
    assert quick.wrong == slow.wrong
    assert quick.array.type == slow.array.type
    pairs = zip(quick.array.to_pylist(), slow.array.to_pylist(), strict=True)
    assert all(same(one, other) for one, other in pairs), (quick, slow)


@given(st.lists(st.none() | st.binary(max_size=12) | st.sampled_from([
    b"a,2026-11-26T10:00:00Z,7,1.5", b'"b",2026-11-26T10:00:00Z,,', b"c,2026-11-26T10:00:00Z,x,2", b"a,b", b"\xff,,,",
]), max_size=8))  # fmt: skip
def test_lines_together_are_read_as_each_alone(values):
    by = decoding(Csv(columns=COLUMNS), FIELDS)
    columns, reasons = by.columns(values)
    alone = [by.row(value) for value in values]
    assert reasons == [why for _, why in alone]
    assert [*zip(*columns, strict=True)] == [row for row, _ in alone]


def test_a_part_of_a_longer_array_is_read_as_itself():
    given = arrow_array(["1", "x", None, "3"], "string").slice(1, 3)
    column = text_column(given, Field(name="x", type="int"))
    assert (column.array.to_pylist(), [*column.wrong]) == ([None, None, 3], [0])


@pytest.mark.parametrize(("kind", "format_"), KINDS)
def test_a_reason_has_nothing_of_a_text_that_reads_like_one(kind, format_):
    field = Field(name="x", type=kind, format=format_, required=False)
    assert "hunter2" not in text_column(["is the password hunter2"], field).wrong[0]


@pytest.mark.parametrize(("kind", "format_"), [("date", "days"), ("timestamp", "s"), ("int", "text")])  # fmt: skip
def test_a_reason_has_nothing_of_a_text_in_json(kind, format_):
    of_json = leaf(Field(name="x", type=kind, format=format_))
    assert "hunter2" not in of_json.column(["is the password hunter2"]).wrong[0]
