"""A time of any year is a value: Python's own where Python has it, and text beyond."""

import ast
import time
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType
from upath import UPath

import spark_jobs
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.cli.layout import cell, moment
from spark_jobs.errors.base import _plain
from spark_jobs.pages.templates import shown
from spark_jobs.proof.answer import plain
from spark_jobs.repair.exchange.commit import Base
from spark_jobs.repair.exchange.staging import same, without
from spark_jobs.settings.installation import REPO
from spark_jobs.table.delta.table import Delta
from spark_jobs.values import times
from spark_jobs.values.python_times import rows_of
from spark_jobs.values.spans import Position, Span
from spark_jobs.values.spark_times import make_total
from spark_jobs.values.times import EPOCH, at_milliseconds, date_of, iso, time_of
from tests.unit.checkpoints import begin, plan_batch

US = timedelta(microseconds=1)
moments = st.datetimes(timezones=st.just(UTC))
LONG = st.integers(-(2**63) + 1, 2**63 - 1)  # numpy has no time for the first
FIRST, LAST = (at.replace(tzinfo=UTC) for at in (datetime.min, datetime.max))  # noqa: DTZ901 - they get one


@given(moments | st.sampled_from([FIRST, LAST]))
def test_a_time_that_python_has_is_that_time(at):
    assert time_of((at - EPOCH) // US) == at
    assert date_of((at.date() - EPOCH.date()).days) == at.date()


@given(LONG)
def test_any_other_is_its_text(us):
    """As numpy writes it, which has the same calendar and no end."""
    found, oracle = time_of(us), str(np.datetime64(us, "us"))
    text = found.isoformat() if isinstance(found, datetime) else found
    assert (
        text.lstrip("+").partition(".")[0].removesuffix("+00:00").removesuffix("Z")
        == (oracle.partition(".")[0])
    )


def stamps(*us: int | None) -> pa.Array:
    return pa.array(us, pa.int64()).cast(pa.timestamp("us", "UTC"))


BEYOND_US = (LAST - EPOCH) // US + 1


def test_rows_of_arrow_have_such_times_at_any_depth():
    at = stamps(BEYOND_US, None)
    days = pa.array([2_932_897, 0], pa.int32()).cast(pa.date32())
    nested = pa.StructArray.from_arrays([at, pa.array([1, 2])], names=["at", "n"])
    listed = pa.ListArray.from_arrays([0, 1, 2], at)
    mapped = pa.MapArray.from_arrays([0, 1, 2], pa.array(["a", "b"]), at)
    table = pa.table({"at": at, "day": days, "nested": nested, "listed": listed, "mapped": mapped})
    far = "+10000-01-01T00:00:00Z"
    assert rows_of(table) == [
        {
            "at": far,
            "day": "+10000-01-01",
            "nested": {"at": far, "n": 1},
            "listed": [far],
            "mapped": [("a", far)],
        },
        {
            "at": None,
            "day": date(1970, 1, 1),
            "nested": {"at": None, "n": 2},
            "listed": [None],
            "mapped": [("b", None)],
        },
    ]
    near = table.slice(1)
    assert rows_of(near) == near.to_pylist()


def test_rows_with_such_times_are_compared():
    rows = pa.table({"at": stamps(BEYOND_US, BEYOND_US + 1, 0)})
    assert same(rows, rows.take(pa.array([2, 1, 0])))
    assert not same(rows, rows.take(pa.array([0, 0, 2])))
    assert without(rows, rows.slice(0, 1)).num_rows == 2


@pytest.mark.parametrize("kind", [TimestampType(), TimestampNTZType()], ids=str)
@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        (FIRST, datetime(1, 1, 1)),  # noqa: DTZ001 - as PySpark gives it
        (datetime(1582, 10, 10, tzinfo=UTC), datetime(1582, 10, 10)),  # noqa: DTZ001
        (datetime(1850, 1, 1, 0, 0, 0, 1, UTC), datetime(1850, 1, 1, 0, 0, 0, 1)),  # noqa: DTZ001
        (LAST, datetime.max),  # noqa: DTZ901
    ],
)
def test_what_pyspark_collects_has_go_s_zero_time(kind, at, wanted):
    make_total()
    assert kind.fromInternal((at - EPOCH) // US) == wanted
    assert kind.fromInternal(None) is None
    assert kind.fromInternal(BEYOND_US) == "+10000-01-01T00:00:00Z"
    assert DateType().fromInternal(-719_163) == "0000-12-31"


def test_a_page_shows_every_year_with_four_digits():
    assert [shown(at) for at in (FIRST, LAST)] == ["0001-01-01 00:00:00", "9999-12-31 23:59:59"]


def test_a_file_up_to_the_last_time_of_all_may_touch_a_range(tmp_path):
    """Spark cuts the largest time of a file to milliseconds, so there may be one a moment later."""
    span, path = Span(EPOCH, EPOCH + timedelta(days=1)), UPath(tmp_path / "t")
    for _ in range(2):
        rows = pa.table({"at": stamps(-1, BEYOND_US - 1)})
        deltalake.write_deltalake(str(path), rows, mode="append")
    assert Base(Delta(path), 0, Position("at"), (span,)).touched()


PRODUCT = [Path(spark_jobs.__file__).parent, REPO / "plugins", REPO / "dags"]
ONLY = Path(times.__file__)
ASK = {"astimezone", "fromtimestamp", "utcfromtimestamp"}
"""Methods that ask the zone of the process, or fail at either end of Python's times."""


def test_no_file_but_one_puts_a_time_into_a_zone_or_makes_it_from_a_number():
    found = {
        (str(file), node.attr)
        for folder in PRODUCT
        for file in folder.rglob("*.py")
        if file != ONLY and any(name in file.read_text() for name in ASK)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ASK
    }
    assert not found


EAST, WEST = (timezone(timedelta(hours=hours)) for hours in (14, -12))
ENDS = [FIRST.replace(tzinfo=EAST), LAST.replace(tzinfo=WEST), FIRST.replace(tzinfo=None), LAST]


@pytest.mark.parametrize("at", ENDS)
def test_a_time_at_either_end_is_shown_in_any_zone(at, monkeypatch):
    wanted = np.datetime64(at.replace(tzinfo=None), "s")
    wanted -= np.timedelta64(int((at.utcoffset() or timedelta()).total_seconds()), "s")
    text = str(wanted)  # numpy has the same calendar and no end
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert iso(at, unit="seconds").lstrip("+").partition(".")[0] == text
        for told in (shown(at), moment(at, exact=True), plain(at), _plain(at)):
            assert told.lstrip("+").startswith(text.replace("T", " ")[:16])
        assert cell("at", at, EPOCH) == moment(at, exact=True)
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_milliseconds_are_exact(ms):
    assert (at_milliseconds(ms) - EPOCH) // timedelta(milliseconds=1) == ms


def test_a_watermark_of_the_last_day_is_that_time(tmp_path):
    plan_batch(begin(tmp_path), 0, {0: 1}, watermark_ms=253_402_300_799_999)
    found = Checkpoint(UPath(tmp_path))
    assert found.watermark(0) == LAST.replace(microsecond=999_000) == found.batch(0).watermark
