"""More than six digits of a second are cut off, as Python, Spark and DuckDB do it; never rounded."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spark_jobs.spec import Field, Topic
from tests.unit.decoding import Decoding

TOPIC = Topic(
    name="t",
    event_time="at",
    fields=(
        Field(name="at", type="timestamp"),
        Field(name="until", type="timestamp", required=False),
        Field(name="name", type="string"),
        Field(name="amount", type="double"),
    ),
)
DECODER = Decoding(TOPIC)
LAST = datetime.max.replace(tzinfo=UTC)


def record(at: str, **more: Any) -> bytes:
    return json.dumps({"at": at, "name": "x", "amount": 1.0} | more).encode()


def times(value: bytes) -> tuple[Any, ...]:
    """The two times of the record, decoded alone and among others, which are the same."""
    row, reason = DECODER.row(value)
    columns, reasons = DECODER.columns([record("2026-03-01T00:00:00Z"), value])
    assert reason is reasons[1] is None, reason
    assert repr(tuple(column[1] for column in columns)) == repr(row)
    return row[:2]


zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=zones)  # noqa: DTZ001 - hypothesis adds the zone


@given(moments, st.text("0123456789", max_size=12), st.booleans())
def test_a_time_of_any_precision_is_what_python_reads(moment, more, escaped):
    whole = moment.isoformat(timespec="microseconds")
    text = whole[:26] + more + whole[26:]
    oracle = datetime.fromisoformat(text)
    assert oracle == moment, "Python cuts off, or the oracle is none"
    value = record(text)
    if escaped:
        value = value.replace(b".", rb"\u002e", 1).replace(b"9", rb"\u0039")
    assert times(value) == (oracle, None)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2026-03-01T10:59:59.9999999Z", datetime(2026, 3, 1, 10, 59, 59, 999999, UTC)),
        ("2026-12-31T23:59:59.9999995Z", datetime(2026, 12, 31, 23, 59, 59, 999999, UTC)),
        ("2026-03-01T10:59:59.123456789123Z", datetime(2026, 3, 1, 10, 59, 59, 123456, UTC)),
        ("1969-12-31T23:59:59.9999999Z", datetime(1969, 12, 31, 23, 59, 59, 999999, UTC)),
        ("9999-12-31T23:59:59.9999999Z", LAST),
        ("9999-12-31t23:59:59.9999999-00:00", LAST),
        ("0001-01-01T00:00:00.0000009Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_the_last_moment_of_an_hour_stays_in_its_hour(text, wanted):
    assert times(record(text, until=text)) == (wanted, wanted)
    assert times(record("2026-03-01T00:00:00Z", until=text))[1] == wanted


def test_other_fields_keep_every_digit_and_every_text():
    """A text that looks like such a time is a text, and a long number is a number."""
    long = "2026-03-01T10:59:59.9999999Z"
    row, reason = DECODER.row(record(long, name=f'{long} "\\ {long}', amount=59.9999999))
    assert reason is None
    assert row[2:] == (f'{long} "\\ {long}', 59.9999999)


@pytest.mark.parametrize(
    "field",
    [
        {"at": "2026-02-30T10:59:59.9999999Z"},
        {"at": "2026-03-01T10:59:59.9999999"},
        {"at": "10:59:59.9999999"},
        {"at": "2026-03-01T10:59:59.9999999Z", "until": 10},
        {"until": r"2026-03-01T10:59:59\u002e9999999Z"},
        {"until": '2026-03-01T10:59:59.9999999Z" '},
    ],
)
def test_what_is_no_time_is_malformed_with_its_field(field):
    [wrong] = [name for name in ("until", "at") if name in field][:1]
    _, reason = DECODER.row(record(**{"at": "2026-03-01T00:00:00Z"} | field))
    assert reason is not None
    assert f"`$.{wrong}`" in reason
