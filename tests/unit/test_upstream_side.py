"""Where two versions of a table differ for who drains it: the times that are marked."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from pkgutil import resolve_name

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.side.port import Side
from spark_jobs.spec import Dimension, Field
from spark_jobs.spec.table.upstream import Rows
from spark_jobs.storage.pin import Changed, Pin
from spark_jobs.upstream import rows_side
from spark_jobs.upstream.rows_side import RowsSide
from spark_jobs.upstream.table_log import own_id
from tests.unit.test_upstream_moves import HOUR, NOON, Tables

FIELDS = (Field(name="at", type="timestamp"), Field(name="n", type="bigint"))


class Root:
    root = "/nowhere"


@pytest.fixture
def table(tmp_path) -> Tables:
    return Tables(tmp_path)


@pytest.mark.parametrize("declared", [Rows, Dimension])
def test_each_side_answers_all_that_is_asked_of_one(declared):
    asked = {name for name in vars(Side) if not name.startswith("_")}
    assert {"now", "has", "keep"} <= asked
    assert asked <= {*dir(resolve_name(declared.side))}


def changed(table: Tables, since: int) -> list[tuple[float, float]]:
    """In hours from noon, of the first row and the last."""
    side = RowsSide(Rows(name="t", path=table.path, event_time="at", fields=FIELDS), Root)
    id_ = own_id("t", table.read.log)
    pins = [Pin(table_id=id_, version=each) for each in (since, table.newest)]
    assert side.has(pins[0])
    found: list[Changed] = [*side.changed(None, *pins)]
    assert all(each.key is None for each in found)
    if any(each.start is None for each in found):
        return [(-1, -1)]
    last = timedelta(microseconds=1)
    return sorted(((e.start - NOON) / HOUR, (e.end - last - NOON) / HOUR) for e in found)


def test_only_rows_that_differ_are_marked_whatever_files_were_written_anew(table):
    since = table.append(*range(50))
    table.delta.update(updates={"n": "n + 1"}, predicate="n = 7")
    table.delta.delete("n = 30")
    assert changed(table, since) == [(7, 7), (30, 30)]


def test_what_is_appended_or_moved_is_no_change(table):
    since = table.append(1, 2)
    table.append(3)
    table.delta.optimize.compact()
    assert changed(table, since) == []


def test_a_row_that_no_drain_reads_any_more_is_marked_with_those_in_its_place(table):
    since = table.append(1)
    table.append(5, 9)
    table.delta.update(updates={"n": "n + 1"}, predicate="n = 5")
    assert changed(table, since) == [(5, 5), (9, 9)]


def test_a_row_that_goes_and_comes_again_is_marked_since_drains_have_it_twice(table):
    since = table.append(1, 2)
    table.delta.delete("n = 1")
    table.append(1)
    assert changed(table, since) == [(1, 1)]


def test_of_too_many_rows_the_files_tell_the_times(table, monkeypatch):
    since = table.append(1, 2, 40)
    table.delta.update(updates={"n": "n + 1"}, predicate="n = 2")
    monkeypatch.setattr(rows_side, "MOST_ROWS", 1)
    [(first, last)] = changed(table, since)
    assert first == 1
    assert 40 <= last < 40.001


@pytest.mark.parametrize("most", [0, 2_000_000])
def test_times_that_no_range_has_mark_nothing_and_stop_nothing(table, monkeypatch, most):
    """One is behind all that Python has."""
    times = pa.array([2**60, 253402300799999999, -(2**55)], pa.timestamp("us", "UTC"))
    made = pa.table({"at": times, "n": pa.array([1, 2, 3])})
    deltalake.write_deltalake(table.path, made)
    since = table.append(5)
    monkeypatch.setattr(rows_side, "MOST_ROWS", most)
    table.delta.delete("n < 4")
    assert changed(table, since) in ([], [(-1, -1)])


def test_where_the_log_is_gone_all_is_marked(table):
    since = table.append(1)
    table.append(2)
    table.delta.create_checkpoint()
    for each in range(table.newest + 1):
        (Path(table.path) / "_delta_log" / f"{each:020}.json").unlink()
    assert changed(table, since) == [(-1, -1)]
