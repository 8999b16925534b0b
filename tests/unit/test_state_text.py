"""What state and its changes look like, and how buffers get their measures' names."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import Row

from spark_jobs.spec.steps.expires import Variable
from spark_jobs.state.table import Table, buffer_names
from spark_jobs.state.text import (
    format_change,
    format_rows,
    format_title,
    format_value,
    row_changes,
)

GROUP = (("shop", "key"), ("sales", "value"), ("turnover", "value"))
GROUPS = Variable("", "stateStoreSave")
ZERO = datetime(1, 1, 1, tzinfo=UTC).replace(tzinfo=None)
"""As Spark's rows have Go's zero time."""
LIST = Variable("waiting", "ListState", ttl=True)


def table(
    *rows: tuple[Any, ...], columns: Any = GROUP, variable: Variable = GROUPS, more: int = 0
) -> Table:
    return Table(variable, columns, rows, len(rows) + more)


@pytest.mark.parametrize(
    ("measures", "stored", "names"),
    [
        (["count(*)", "sum(x)"], ["count", "sum"], ["m0", "m1"]),
        (["COUNT(1)", " max( a + b ) "], ["count", "max"], ["m0", "m1"]),
        (["avg(x)", "count_if(y)"], ["sum", "count", "count"], ["m0.sum", "m0.count", "m1"]),
        # Not one plain aggregate each: nobody can tell from the names whose buffer it is.
        (["sum(x) / count(y)"], ["sum", "count"], ["sum", "count"]),
        (["count(*)", "count(*)", "max(x)"], ["count", "max"], ["count", "max"]),
        (["sum(x)", "count(*)"], ["sum", "isEmpty", "count"], ["sum", "isEmpty", "count"]),
        (["count(*) + 1", "count(x)"], ["count", "count"], ["count#1", "count#2"]),
        (["stddev(x)"], ["n", "avg", "m2"], ["n", "avg", "m2"]),
    ],
    ids=str,
)
def test_buffers_have_their_measures_names_where_that_is_certain(measures, stored, names):
    assert buffer_names({f"m{number}": sql for number, sql in enumerate(measures)}, stored) == names


def test_a_group_appears_changes_and_goes_away():
    before = table(("a", 1, 10), ("b", 2, 20), ("c", 3, 30))
    after = table(("b", 3, 20), ("c", 3, 30), ("d", 4, None))
    assert [format_change(change) for change in row_changes(before, after)] == [
        "removed    shop a: sales 1, turnover 10",
        "changed    shop b: sales 2 -> 3",
        "appeared   shop d: sales 4, turnover null",
    ]
    assert [format_change(change, {"shop"}) for change in row_changes(before, after)][
        1
    ] == "changed    sales 2 -> 3"
    assert row_changes(after, after) == []


def test_an_element_of_a_list_appears_and_goes_away_each_as_often_as_it_is_there():
    columns = (("shop", "key"), ("tags", "value"))
    before = table(("a", ["x"]), ("a", ["x"]), ("a", ["y"]), columns=columns, variable=LIST)
    after = table(("a", ["x"]), ("a", ["z"]), columns=columns, variable=LIST)
    assert sorted(format_change(change) for change in row_changes(before, after)) == [
        "appeared   waiting (list, expiring): shop a: tags [z]",
        "removed    waiting (list, expiring): shop a: tags [x]",
        "removed    waiting (list, expiring): shop a: tags [y]",
    ]


def test_a_variable_that_was_not_there_yet_appears_and_one_that_is_gone_goes_away():
    rows = table(("a", 1, 10))
    assert [format_change(change)[:8] for change in row_changes(None, rows)] == ["appeared"]
    assert [format_change(change)[:7] for change in row_changes(rows, None)] == ["removed"]
    assert row_changes(None, None) == []


def test_the_entry_of_a_map_is_known_by_its_own_key_too():
    columns = (("shop", "key"), ("letter", "map key"), ("n", "value"))
    by_letter = Variable("by_letter", "MapState")
    before = table(("a", "x", 1), ("a", "y", 1), columns=columns, variable=by_letter)
    after = table(("a", "x", 2), ("a", "y", 1), columns=columns, variable=by_letter)
    [change] = row_changes(before, after)
    assert format_change(change) == "changed    by_letter (map): shop a, letter x: n 1 -> 2"


def test_rows_are_aligned_with_numbers_to_the_right():
    assert list(format_rows(table(("JFK", 7, None), ("LGA", 12, 3.5)))) == [
        "  shop  sales  turnover",
        "  JFK       7      null",
        "  LGA      12       3.5",
    ]
    assert list(format_rows(table())) == []


def test_a_table_says_how_many_rows_there_are_and_how_many_it_shows():
    assert format_title(table(("a", 1, 1))) == "1 row"
    assert format_title(table(("a", 1, 1), more=1200)) == "1,201 rows; the first 1 are shown"
    assert format_title(table(variable=LIST)) == "waiting (list, expiring): 0 rows"
    assert (
        format_title(table(variable=Variable("event-time timers", "TimerState")))
        == "event-time timers: 0 rows"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (1234567, "1234567"),
        (b"\x01\xff", "0x01ff"),
        ("a\nb", "a\\nb"),
        ([1, None], "[1, null]"),
        (datetime(2013, 1, 1, 12, tzinfo=timezone(timedelta(hours=2))), "2013-01-01 10:00:00"),
        (datetime(2013, 1, 1, 12, 0, 0, 500_000, tzinfo=UTC), "2013-01-01 12:00:00.500000"),
        (ZERO, "0001-01-01 00:00:00"),
        (Row(at=[ZERO]), "{at [0001-01-01 00:00:00]}"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))), "0000-12-31T23:00:00Z"),
        (
            datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-1))),
            "+10000-01-01T00:00:00Z",
        ),
        (Row(n=1, at=[Row(x="y")]), "{n 1, at [{x y}]}"),
        ({"a": 1}, "{a 1}"),
    ],
    ids=str,
)
def test_a_value_is_told_on_one_line(value, text):
    assert format_value(value) == text
