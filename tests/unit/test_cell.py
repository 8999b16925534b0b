"""One value as a person reads it. The clock is an argument."""

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from math import inf, nan

import pytest

from spark_jobs.cli.formats import exact, plain
from spark_jobs.cli.layout import cell

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("read", 1234567, "1,234,567"),
        ("offset", 1234567, "1234567"),
        ("batch", 1024, "1024"),
        ("seconds", 1234.5678, "1,234.6"),
        ("problem", None, ""),
        ("value", b'{"a": "\xc3\xa9"}', '{"a": "é"}'),
        ("value", b"\xff\x00", "\\xff\\x00"),
        (
            "headers",
            [{"key": "a", "value": b"\xff"}, {"key": "b\n", "value": None}],
            "key=a, value=\\xff; key=b\\n, value=",
        ),
        ("reason", "two\nlines and \x1b[31m red", "two\\nlines and \\x1b[31m red"),
        ("value", "[bold]:x:[/x]", "[bold]:x:[/x]"),
        ("started_at", datetime(2026, 11, 22, 14, 3, 59, 1, UTC), "2026-11-22 14:03 UTC"),
        ("watermark", datetime(2026, 11, 22, 14, 3, tzinfo=UTC), "2026-11-22 14:03 UTC"),
        ("watermark", datetime(2026, 11, 22, 14, 3, 7, tzinfo=UTC), "2026-11-22 14:03:07 UTC"),
        ("event_time", datetime(2026, 11, 22, 14, 3, 7, 5000, UTC), "2026-11-22 14:03:07.005 UTC"),
        ("event_time", datetime(2026, 11, 22, 14, 3, 7, 5, UTC), "2026-11-22 14:03:07.000005 UTC"),
        ("event_time", datetime(26, 1, 2, tzinfo=UTC), "0026-01-02 00:00 UTC"),
        (
            "event_time",
            datetime(2026, 11, 22, 14, 3, tzinfo=timezone(timedelta(hours=2))),
            "2026-11-22 12:03 UTC",
        ),
    ],
)
def test_a_value_is_shown_as_people_write_it(name, value, text):
    assert cell(name, value, NOON) == text


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (timedelta(seconds=1), "just now"),
        (timedelta(seconds=-1), "just now"),
        (timedelta(seconds=40), "40 seconds ago"),
        (timedelta(minutes=90), "90 minutes ago"),
        (timedelta(hours=3), "3 hours ago"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(minutes=-5), "in 5 minutes"),
    ],
)
def test_when_is_the_time_since_then(before, text):
    assert cell("when", NOON - before, NOON) == text


def test_bytes_and_times_within_a_value_are_as_json_has_them():
    headers = [{"key": "a", "value": b"\xff"}, {"key": "b", "value": b"c", "at": NOON}]
    assert json.loads(json.dumps(plain(headers))) == [
        {"key": "a", "value": {"base64": "/w=="}},
        {"key": "b", "value": "c", "at": "2026-11-22T12:00:00Z"},
    ]


def test_days_decimals_and_maps_of_a_tables_row_are_in_json():
    row = {"day": NOON.date(), "amount": Decimal("1.50"), "tags": [("a", Decimal("0E-7"))]}
    assert json.loads(json.dumps(plain(row))) == {
        "day": "2026-11-22", "amount": "1.50", "tags": [["a", "0.0000000"]],
    }  # fmt: skip


def test_json_has_no_number_that_is_none():
    given = [nan, {"x": -inf}, inf, 1.5]
    text = json.dumps(plain(given), allow_nan=False)
    assert json.loads(text) == ["NaN", {"x": "-Infinity"}, "Infinity", 1.5]


def test_a_time_without_a_zone_is_utc_at_both_ends_of_pythons_times():
    ends = (datetime.min, datetime.max)  # noqa: DTZ901 - as Arrow has a time without a zone
    assert [plain(each) for each in ends] == ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1234567, "0.1234567"),
        (1e21, "1e+21"),
        ([{"a": 2.05}], "a=2.05"),
        (1234, "1,234"),
        ("1.50", "1.50"),
    ],
)
def test_a_double_of_a_record_is_shown_as_it_is(value, text):
    assert cell("amount", exact(value), NOON) == text
