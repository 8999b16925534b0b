"""Which times of which fields a pipeline's GroupState cannot hold, and who knows of it."""

import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from spark_jobs.decode.raw_filter import BUDGET, CapturePolicy, RawFilter
from spark_jobs.spec import Field, Pipeline, State, Transform
from spark_jobs.spec.analysis.lateness import unheld
from spark_jobs.spec.steps.group_forms import FIRST, LAST, NO_JULIAN
from tests.unit.specs import (
    FIELDS,
    aggregate,
    deduplicate,
    group_state,
    in_buckets,
    pipeline,
    topic,
)

UNTIL = topic(
    fields=(
        *FIELDS,
        Field(name="until", type="timestamp", required=False),
        Field(name="day", type="date", required=False),
    )
)
US = timedelta(microseconds=1)
SELECT = Transform(sql="SELECT * FROM rows")


def spec(*steps: Any, **changes: Any) -> Pipeline:
    return pipeline(**{"topic": UNTIL, "steps": steps, "state": State(budget_rows=9)} | changes)


def pandas(**changes: Any) -> Any:
    return group_state(form="pandas", **changes)


@pytest.mark.parametrize(
    ("given", "fields"),
    [
        (spec(pandas()), ["until", "day"]),
        (spec(pandas(time_mode="none")), ["at", "until", "day"]),
        (spec(deduplicate(), pandas(time_mode="none")), ["until", "day"]),
        (spec(deduplicate(), Transform(where="amount > 0"), group_state()), ["until", "day"]),
        (spec(in_buckets()), []),
        (spec(SELECT, pandas()), []),
        (spec(aggregate(keys=("until",), event_time="moment"), pandas(keys=("until",))), ["until"]),
        (spec(aggregate()), []),
    ],
    ids=["event time", "no time", "late", "row", "buckets", "made by SQL", "grouped", "no code"],
)
def test_of_the_fields_that_reach_the_code_as_they_are(given, fields):
    """An event time of 1677 is late for a step that judges by it, before any code sees it."""
    assert [each.field for each in unheld(given)] == fields


def test_a_form_with_pandas_holds_what_pandas_holds_and_the_row_form_all_but_ten_days():
    for form in ("pandas", "apply"):
        more: dict[str, Any] = {"state": (Field(name="n", type="int"),)} if form == "apply" else {}
        until = unheld(spec(group_state(form=form, **more)))[0]
        for edge, beside in ((FIRST, FIRST - US), (LAST, LAST + US)):
            assert pd.Timestamp(edge).as_unit("ns").to_pydatetime(warn=False) == edge
            with pytest.raises(pd.errors.OutOfBoundsDatetime):
                pd.Timestamp(beside).as_unit("ns")
            assert until.reason(edge) == ""
            assert until.reason(beside).startswith(f"until is {beside.replace(tzinfo=None)}: ")
            assert until.reason(beside).endswith(f"of form {form!r}")
    until, day = unheld(spec(group_state()))
    assert until.reason(datetime(1, 1, 1, tzinfo=UTC)) == until.reason(None) == ""
    assert [until.reason(at + by) == "" for at, by in zip(NO_JULIAN, (-US, US), strict=True)] == [
        True,
        True,
    ]
    assert all(until.reason(at) for at in NO_JULIAN)
    assert [bool(day.reason(date(1582, 10, on))) for on in (4, 5, 14, 15)] == [0, 1, 1, 0]


def test_an_event_time_far_ahead_stays_premature():
    at = unheld(spec(pandas(time_mode="none")))[0]
    assert (at.field, at.reason(LAST + US), bool(at.reason(FIRST - US))) == ("at", "", True)


def test_the_bytes_of_a_record_that_may_be_malformed_for_it_come_back():
    sent = datetime(2026, 1, 1, tzinfo=UTC)
    policy = CapturePolicy(0, BUDGET, int(sent.timestamp()) * 1000)
    keeps = RawFilter(UNTIL, policy, unheld(spec(pandas())))
    untils = [None, sent, LAST + US, datetime(1, 1, 1, tzinfo=UTC)]
    days = [None, date(1582, 10, 7), None, None]
    raw = pa.array([{"key": b"k", "value": json.dumps(n).encode()} for n in range(4)])
    times = pa.array([sent] * 4, pa.timestamp("us", "UTC"))
    kafka = pa.StructArray.from_arrays([times, raw], names=["timestamp", "raw"])
    fields = {
        "at": times,
        "until": pa.array(untils, times.type),
        "day": pa.array(days, pa.date32()),
    }
    kept = keeps.apply(kafka, fields).field("raw").to_pylist()
    assert [each is not None for each in kept] == [False, True, True, True]
