"""Durations for a reader; those of specs are in test_spec.py."""

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from spark_jobs.spec.duration import UNITS, approximate


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(), "0 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(seconds=119), "119 seconds"),
        (timedelta(minutes=2), "2 minutes"),
        (timedelta(minutes=119, seconds=59), "120 minutes"),
        (timedelta(hours=2), "2 hours"),
        (timedelta(hours=47), "47 hours"),
        (timedelta(days=4000), "4,000 days"),
    ],
)
def test_a_duration_is_told_in_its_largest_unit_of_which_there_are_two(duration, text):
    assert approximate(duration) == text


@given(st.timedeltas(timedelta(seconds=2), timedelta(days=36_525)))
def test_what_is_told_is_within_a_quarter_of_what_is(duration):
    count, unit = approximate(duration).split()
    told = int(count.replace(",", "")) * UNITS[unit.rstrip("s")]
    assert abs(told - duration) <= duration / 4
