"""Our Rotations against plain Python, over any batches, in TwsTester, at length in Spark."""

import os
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import event, given, settings, strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from spark_jobs.pipelines.aircraft_rotations.logic import Rotations
from tests.harness import oracle
from tests.harness.compare import assert_same

START = datetime(2013, 1, 1, tzinfo=UTC)
DELAY = timedelta(hours=2)
UNSEEN = timedelta(hours=48)
LONG = "SLUICE_CASES" in os.environ
CASES = int(os.environ.get("SLUICE_CASES", "20"))
USUAL = settings(max_examples=5 * CASES, deadline=None, derandomize=not LONG, database=None)

TAILS = st.sampled_from(["N1", "N2", "Nö" * 40])
MINUTES = st.one_of(
    st.builds(lambda day, more: 1440 * day + more, st.integers(0, 5), st.sampled_from((0, 120))),
    st.integers(0, 144 * 60),
)
"""Half of them days or the delay apart: they meet the watermark and each other's 48 hours."""
Departures = list[dict[str, Any]]
"""Those of one batch: the columns that the processor reads, and those that the oracle reads."""


@st.composite
def batches(draw: st.DrawFn) -> list[Departures]:
    """Without what is late: TwsTester goes by the newest watermark, Spark by the one before."""
    newest = START
    made = []
    for number in range(draw(st.integers(1, 5))):
        minutes = draw(st.lists(st.tuples(TAILS, MINUTES), max_size=6))
        rows = [
            _departure(f"{number}-{index}", tail, START + timedelta(minutes=minute))
            for index, (tail, minute) in enumerate(minutes)
        ]
        rows = [row for row in rows if row["event_time"] > newest - DELAY]
        newest = max([newest, *(row["event_time"] for row in rows)])
        made.append(rows)
    return made


def _departure(event_id: str, tail: str, at: datetime) -> dict[str, Any]:
    place = {"origin": "JFK", "destination": event_id}
    return {
        "event_id": event_id,
        "event_type": "departure",
        "event_time": at,
        "cancelled": False,
        "tail_number": tail,
        **place,
    }


@settings(USUAL)
@given(batches())
def test_rotations_gives_what_plain_python_gives_however_the_departures_are_batched(found):
    event(f"{sum(map(len, found)) // 5 * 5} departures or more")
    assert_same(by_tester(found), by_oracle(found), "what the processor gives in TwsTester")


def by_oracle(found: list[Departures]) -> list[dict[str, Any]]:
    """What is known by the last watermark."""
    departures = [row for batch in found for row in batch]
    if not departures:
        return []
    return oracle.aircraft_rotations(
        pa.Table.from_pylist(departures), max(row["event_time"] for row in departures) - DELAY
    )


def by_tester(found: list[Departures]) -> list[dict[str, Any]]:
    """Batch by batch: rows, then the timers that the batch's watermark makes due."""
    extract = lambda one: int(one.event_time.replace(tzinfo=UTC).timestamp() * 1000)  # noqa: E731
    tester = TwsTester(Rotations(), timeMode="EventTime", eventTimeExtractor=extract)
    rows = []
    newest = START
    for batch in found:
        for tail in sorted({row["tail_number"] for row in batch}):
            rows += tester.test(
                tail, [_spark_row(row) for row in batch if row["tail_number"] == tail]
            )
        before = newest
        newest = max([newest, *(row["event_time"] for row in batch)])
        if newest > before:
            rows += tester.setWatermark(int((newest - DELAY).timestamp() * 1000))
    tester.setWatermark(int((newest + 9 * UNSEEN).timestamp() * 1000))
    tails = {row["tail_number"] for batch in found for row in batch}
    assert not any(tester.peekValueState("out", tail) for tail in tails), "state is left behind"
    return [row.asDict() for row in rows]


def _spark_row(row: dict[str, Any]) -> Row:
    """As Spark hands it over: without a zone."""
    return Row(**row | {"event_time": row["event_time"].replace(tzinfo=None)})
