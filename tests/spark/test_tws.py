"""TwsTester, which needs no Spark, and a real query: the same processor gives the same rows."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from spark_jobs.contract import registry
from spark_jobs.contract.spec import State
from spark_jobs.contract.steps import GroupState
from spark_jobs.pipelines.aircraft_rotations.logic import Rotations
from spark_jobs.session import session
from spark_jobs.stateful.group_state import schema

START, DELAY = datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=2)
CASES = max(1, int(os.environ.get("SLUICE_CASES", "20")) // 4)
"""A real query has a batch for each list of departures, so a case of many costs seconds."""
STEP = next(step for step in registry.load("aircraft_rotations").steps if isinstance(step, GroupState))

minutes = st.integers(0, 6 * 24 * 60)
departures = st.lists(st.tuples(st.sampled_from(["N1", "N2", "Nö" * 40]), minutes), min_size=0, max_size=6)
batches = st.lists(departures, min_size=1, max_size=5)


def on_time(found: list[list[tuple[str, int]]]) -> list[list[tuple[str, datetime]]]:
    """Each batch without what is late in it: TwsTester goes by the newest watermark for that, Spark by the one before."""
    newest, kept = START, []
    for batch in found:
        rows = [(tail, START + timedelta(minutes=minute)) for tail, minute in batch]
        rows = [(tail, at) for tail, at in rows if at > newest - DELAY]
        newest = max([newest, *(at for _, at in rows)])
        kept.append(rows)
    return kept


def row(number: int, tail: str, at: datetime) -> dict[str, Any]:
    place = {"origin": "JFK", "destination": "LAX"}
    return {"tail_number": tail, "event_time": at.isoformat(), "event_id": f"{number:04d}", **place}


def by_tester(found: list[list[dict[str, Any]]]) -> Counter[str]:
    """Batch by batch: rows, then the timers that the batch's watermark makes due; then those of the closing batch."""
    extract = lambda one: int(one.event_time.replace(tzinfo=UTC).timestamp() * 1000)  # noqa: E731
    tester, rows, newest = TwsTester(Rotations(), timeMode="EventTime", eventTimeExtractor=extract), [], START
    for batch in found:
        for tail in {record["tail_number"] for record in batch}:
            of_it = [record for record in batch if record["tail_number"] == tail]
            times = [datetime.fromisoformat(record["event_time"]).replace(tzinfo=None) for record in of_it]
            rows += tester.test(tail, [Row(**{**record, "event_time": at}) for record, at in zip(of_it, times, strict=True)])
        before, newest = newest, max([newest, *(datetime.fromisoformat(record["event_time"]) for record in batch)])
        if newest > before:
            rows += tester.setWatermark(int((newest - DELAY).timestamp() * 1000))
    # TwsTester hands the key over as it is, and Spark as a tuple of columns.
    return Counter(text({**one.asDict(), "tail_number": None}) for one in rows)


def by_spark(found: list[list[dict[str, Any]]]) -> Counter[str]:
    """A file a batch, through transformWithState."""
    spark = session("tws", State())
    with tempfile.TemporaryDirectory() as home:
        for number, batch in enumerate(found):
            path = Path(home) / "in" / f"{number}.json"
            path.parent.mkdir(exist_ok=True)
            path.write_text("\n".join(json.dumps(record) for record in batch))
            os.utime(path, (1_600_000_000 + number, 1_600_000_000 + number))
        columns = "tail_number string, event_time timestamp, event_id string, origin string, destination string"
        stream = spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).json(f"{home}/in")
        rows = stream.withWatermark("event_time", "2 hours").groupBy("tail_number").transformWithState(
            Rotations(), schema(STEP.output), "Append", "EventTime")
        out: list[Row] = []
        query = rows.writeStream.foreachBatch(lambda batch, _: out.extend(batch.collect()))
        query = query.option("checkpointLocation", f"{home}/checkpoint").trigger(availableNow=True).start()
        query.awaitTermination()
    return Counter(text({**one.asDict(), "tail_number": None}) for one in out)


def text(values: dict[str, Any]) -> str:
    return repr(sorted((name, str(value.replace(tzinfo=None)) if isinstance(value, datetime) else value)
                       for name, value in values.items()))


@pytest.mark.usefixtures("spark")
@settings(max_examples=CASES, deadline=None, derandomize="SLUICE_CASES" not in os.environ, database=None)
@given(batches)
def test_twstester_and_a_real_query_give_the_same_rows(found: list[list[tuple[str, int]]]) -> None:
    numbered = iter(range(10_000))
    records = [[row(next(numbered), tail, at) for tail, at in batch] for batch in on_time(found)]
    assert by_tester(records) == by_spark(records)
