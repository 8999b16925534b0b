"""The row of several pipelines: what its tables must hold, and what its figures are made of."""

from datetime import UTC, timedelta
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
import pytest

from bench import oracle as own, together, workload
from bench.arms import TOPIC, Drained
from bench.process import Cost
from local import ledger
from tests.harness import oracle

EVENTS = 7_000
"""Enough for rotations and for aircraft that do not return."""


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger of what the benchmark sends."""
    folder = tmp_path_factory.mktemp("sent")
    [records] = workload.deliveries(EVENTS, 0, 0)
    places = [(0, offset) for offset in range(len(records))]
    ledger.write(folder, 1, TOPIC, records, places)
    return folder


@pytest.mark.parametrize("name", together.PIPELINES)
def test_each_tables_rows_are_those_of_plain_python_and_one_less_is_no_result(
    name: str, sent: Path, tmp_path: Path
) -> None:
    """tests/harness/oracle.py computes rotations in Python, aircraft by aircraft."""
    events = oracle.events(ledger.read(sent), set())
    rows = oracle.RESULTS[name](events, _watermark(name, events))
    assert len(rows) > 50
    wanted = together.PIPELINES[name]
    deltalake.write_deltalake(str(tmp_path / "right"), pa.Table.from_pylist(rows))
    assert own.hold(tmp_path / "right", sent, name, wanted) == len(rows)
    deltalake.write_deltalake(str(tmp_path / "wrong"), pa.Table.from_pylist(rows[1:]))
    with pytest.raises(own.WrongResult, match=f"1 of {len(rows)} rows are missing"):
        own.hold(tmp_path / "wrong", sent, name, wanted)


def _watermark(name: str, events: pa.Table) -> object:
    where = {
        "flight_events": "true",
        "departure_delays": "event_type = 'departure'",
        "aircraft_rotations": "event_type = 'departure' and not cancelled and tail_number is not null",
    }[name]
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        db.register("events", events)
        [[newest]] = db.execute(f"select max(event_time) from events where {where}").fetchall()
    return newest.astimezone(UTC) - timedelta(hours=2)


def test_the_target_is_held_against_three_cold_drains_and_warm_ones_are_only_shown() -> None:
    def drained(seconds: float, cpu: float) -> Drained:
        return Drained(1.0, Cost(seconds, cpu, 2**30))

    one = {
        together.TOGETHER: drained(6, 9),
        together.APART: drained(10, 30),
        together.WARM: drained(3, 6),
    }
    rows = together._rows("work", [one, one])  # noqa: SLF001 - a run of it takes a broker
    assert [(row.work.rpartition(": ")[2], row.rival, row.value, row.reached) for row in rows] == [
        ("process seconds", together.APART, 0.6, False),
        ("process seconds", together.WARM, 2.0, None),
        ("processor seconds", together.APART, 0.3, True),
        ("processor seconds", together.WARM, 1.5, None),
        ("memory, GB at most", together.APART, 1.0, True),
    ]
