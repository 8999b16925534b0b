"""The canonical result of chains with a GroupState: one micro-batch, then closing batches."""

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet
from pyspark.sql import DataFrame, functions as F
from upath import UPath

from local import ledger as ledgers
from spark_jobs.checkpoint import no_data_batch
from spark_jobs.errors import ProcessorFailed, SluiceError
from spark_jobs.registry import find as registry
from spark_jobs.repair.compute.replay import SPARKS_OWN, replay
from spark_jobs.spec import Aggregate, Deduplicate, Field, GroupState, Pipeline, Tumbling
from spark_jobs.steps.canonical.chain import canonical_output, next_group_state
from spark_jobs.storage import failpoint
from spark_jobs.topics.flights import FLIGHTS
from tests.harness import oracle
from tests.harness.compare import assert_same
from tests.harness.long_form import long_form
from tests.harness.moments import EPOCH
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.harness.turns import alike
from tests.spark import operators, truth
from tests.spark.whole import FOR_EVER, stateful_input

LONG = "SLUICE_CASES" in os.environ
CASES = int(os.environ.get("SLUICE_CASES", "1"))
CONTEXT = timedelta(hours=48)
"""What aircraft_rotations needs before a range."""
ROTATIONS = registry.load("aircraft_rotations")
START = datetime(2013, 1, 1, tzinfo=UTC)
Row = dict[str, Any]
pytestmark = [pytest.mark.usefixtures("settings_of_a_run"), alike("a replay of a state")]


def replayed(spark, spec, rows, folder, until) -> DataFrame:
    """The whole chain over the stateful input."""
    first = next_group_state(spec, 0)
    before = canonical_output(rows, spec, {}, until=first)
    return replay(
        spark, spec, before, {}, first, UPath(folder / ROOT), UPath(folder / "replay"), until
    )


def listed(rows: DataFrame) -> list[Row]:
    found: list[Row] = rows.toArrow().to_pylist()
    return found


BUSY = operators.named("busy_days")
FORMS = {
    "row": operators.named("aircraft_tours"),
    "pandas": operators.named("airport_medians"),
    "apply": operators.named("carrier_days"),
    "GroupState -> Aggregate": BUSY,
    "Deduplicate -> GroupState -> Aggregate": BUSY._replace(
        spec=BUSY.spec.model_copy(
            update={
                "steps": (BUSY.spec.steps[0], Deduplicate(keys=("event_id",)), *BUSY.spec.steps[1:])
            }
        )
    ),
}


IN_THE_LONG_FORM = {("GroupState -> Aggregate", False), ("pandas", True)}
"""The longest chain has the first in it."""
TRIED = [
    pytest.param(
        form, in_1970, id=f"{form}{', around 1970' * in_1970}",
        marks=[long_form] * ((form, in_1970) in IN_THE_LONG_FORM),
    )
    for form in FORMS
    for in_1970 in (False, True)[: 1 if "->" in form else 2]
]  # fmt: skip


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize(("form", "in_1970"), TRIED)
def test_each_form_gives_what_duckdb_gives_over_all_good_records(
    spark, ledger, tmp_path, form, in_1970
):
    """Spark's first watermark is 1970, and of a column that has it, Spark drops such rows."""
    operator = FORMS[form]
    given = around_1970(ledger, tmp_path / "moved") if in_1970 else ledger
    rows = stateful_input(spark, operator.spec, given)
    found = listed(replayed(spark, operator.spec, rows, tmp_path, FOR_EVER))
    events = ledgers.read(given)
    known = truth.canonical(operator, events, FOR_EVER)
    assert len(known) > 2
    assert_same(oracle.comparable(found), oracle.comparable(known), form)
    if in_1970:
        before = events.filter(pc.less_equal(events["event_time"], EPOCH))
        assert 0 < before.num_rows < events.num_rows - 100


def around_1970(ledger: Path, folder: Path) -> Path:
    """The same ledger, moved by whole days so that 1970 begins amid its events."""
    events = ledgers.read(ledger)
    times = sorted(set(events["event_time"].drop_null().to_pylist()))
    middle = times[len(times) // 2]
    by = EPOCH - middle.replace(hour=0, minute=0, second=0, microsecond=0)
    times = [at and (EPOCH if at == middle else at + by) for at in events["event_time"].to_pylist()]
    column = events.schema.get_field_index("event_time")
    moved = events.set_column(column, "event_time", pa.array(times, ledgers.TIME))
    folder.mkdir()
    parquet.write_table(moved, ledgers.delivery_file(folder, 1))
    return folder


def rotations(spark, ledger, folder, a, b) -> list[Row]:
    """Those closed within [a, b), from the records of [a - 48 h, b) and a Deduplicate's."""
    delay = ROTATIONS.watermark_delay
    assert delay is not None
    first = next_group_state(ROTATIONS, 0)
    rows = stateful_input(spark, ROTATIONS, ledger)
    rows = canonical_output(
        between(rows, a - CONTEXT - delay, b + delay), ROTATIONS, {}, until=first
    )
    rows = between(rows, a - CONTEXT, b)
    found = replay(spark, ROTATIONS, rows, {}, first, UPath(folder), UPath(folder / "replay"), b)
    return listed(between(found, a, b, "closed_at"))


def between(rows: DataFrame, a: datetime, b: datetime, by: str = "event_time") -> DataFrame:
    return rows.where((F.col(by) >= F.lit(a)) & (F.col(by) < F.lit(b)))


def test_rotations_of_a_range_are_the_slice_of_the_whole_from_records_of_48_hours_before(
    spark, ledger, tmp_path
):
    events = oracle.events(ledgers.read(ledger), set())
    whole = oracle.aircraft_rotations(events, FOR_EVER)
    times = sorted(row["closed_at"] for row in whole)
    chance = random.Random(7)
    ranges = []
    for _ in range(CASES):
        a = chance.choice(times) - chance.choice((timedelta(), timedelta(minutes=17)))
        ranges.append((a, a + timedelta(minutes=chance.choice((1, 90, 1440, 3000)))))
    for number, (a, b) in enumerate(ranges):
        found = rotations(spark, ledger, tmp_path / str(number), a, b)
        wanted = [row for row in whole if a <= row["closed_at"] < b]
        assert wanted
        assert_same(oracle.comparable(found), oracle.comparable(wanted), f"[{a}, {b})")


MINUTES = st.one_of(
    st.builds(lambda day, more: 1440 * day + more, st.integers(0, 5), st.sampled_from((0, 120))),
    st.integers(0, 144 * 60),
)
TAILS = st.builds("N{}".format, st.integers(0, 30))
RANGES = st.tuples(MINUTES, st.sampled_from((60, 1440, 2880, 2881)))


@settings(max_examples=max(1, CASES // 2), deadline=None, derandomize=not LONG, database=None)
@given(st.lists(st.tuples(TAILS, MINUTES), min_size=60, max_size=200), RANGES)
def test_so_are_those_of_departures_that_meet_the_edges_of_each_others_48_hours(
    spark, tmp_path_factory, minutes, wanted
):
    departures = [
        {
            "event_id": f"{number}",
            "event_type": "departure",
            "event_time": START + timedelta(minutes=minute),
            "cancelled": False,
            "tail_number": tail,
            "origin": "JFK",
            "destination": f"{number}",
        }
        for number, (tail, minute) in enumerate(minutes)
    ]
    a = START + timedelta(minutes=wanted[0])
    b = a + timedelta(minutes=wanted[1])
    rows = spark.createDataFrame(
        [tuple(row.values()) for row in departures],
        "event_id string, event_type string, event_time timestamp, cancelled boolean, "
        "tail_number string, origin string, destination string",
    )
    folder = UPath(tmp_path_factory.mktemp("range"))
    first = next_group_state(ROTATIONS, 0)
    found = replay(
        spark, ROTATIONS, between(rows, a - CONTEXT, b), {}, first, folder, folder / "replay", b
    )
    whole = oracle.aircraft_rotations(pa.Table.from_pylist(departures), FOR_EVER)
    assert_same(
        oracle.comparable(listed(between(found, a, b, "closed_at"))),
        oracle.comparable([row for row in whole if a <= row["closed_at"] < b]),
        f"[{a}, {b})",
    )


@pytest.mark.usefixtures("examples")
def test_a_kill_in_the_middle_is_thrown_away_and_done_anew(spark, ledger, tmp_path, monkeypatch):
    operator = FORMS["apply"]
    rows = stateful_input(spark, operator.spec, ledger)
    with monkeypatch.context() as killed:
        killed.setitem(failpoint.ACTIVE, "replaying", "raise")
        with pytest.raises(SluiceError):
            replayed(spark, operator.spec, rows, tmp_path, FOR_EVER)
    [left] = (tmp_path / "replay").iterdir()
    assert not list((left / "1" / "spark" / "commits").glob("[0-9]*"))
    with monkeypatch.context() as killed:
        killed.setattr(no_data_batch, "write", _killed)
        with pytest.raises(KeyboardInterrupt):
            replayed(spark, operator.spec, rows, tmp_path, FOR_EVER)
    [left] = (tmp_path / "replay").iterdir()
    assert [path.name for path in (left / "1" / "spark" / "commits").glob("[0-9]*")] == ["0"]
    assert list((left / "1" / "output").glob("*.parquet"))
    assert not spark.streams.active
    found = listed(replayed(spark, operator.spec, rows, tmp_path, FOR_EVER))
    known = truth.canonical(operator, ledgers.read(ledger), FOR_EVER)
    assert_same(oracle.comparable(found), oracle.comparable(known), "after the kills")
    assert spark.conf.get(SPARKS_OWN, "true") == "true"


def _killed(*_: object) -> int:
    raise KeyboardInterrupt


def relaying(processor: str) -> Pipeline:
    """A pipeline with a processor of tests/pipelines/relays."""
    step = GroupState(
        processor=processor,
        keys=("carrier",),
        output=(Field(name="carrier", type="string"), Field(name="at", type="timestamp")),
        event_time="at",
    )
    days = Aggregate(
        window=Tumbling(size="1 day"),
        keys=("carrier",),
        measures={"rows": "count(*)"},
        counts="rows",
    )
    return Pipeline(
        name="relays", about="relays", topic=FLIGHTS, watermark_delay="2 hours", steps=(step, days)
    )


@pytest.mark.usefixtures("examples")
def test_a_timer_that_is_set_while_timers_fire_and_is_due_fires_too(spark, ledger, tmp_path):
    spec = relaying("Relay")
    rows = stateful_input(spark, spec, ledger).where("carrier IN ('UA', 'B6')")
    found = listed(replayed(spark, spec, rows, tmp_path, FOR_EVER))
    assert {row["carrier"] for row in found} == {"UA", "B6"}
    assert sum(row["rows"] for row in found) == 8


@pytest.mark.usefixtures("examples")
def test_timers_without_end_are_the_processors_error_and_no_replay_without_end(
    spark, ledger, tmp_path, monkeypatch
):
    monkeypatch.setattr("spark_jobs.repair.compute.replay.MOST_CLOSING", 3)
    spec = relaying("Endless")
    rows = stateful_input(spark, spec, ledger).where("carrier = 'UA'")
    with fails(ProcessorFailed, "timers_endless"):
        replayed(spark, spec, rows, tmp_path, FOR_EVER)


@pytest.mark.usefixtures("examples")
def test_a_range_without_records_gives_no_rows(spark, ledger, tmp_path):
    spec = FORMS["row"].spec
    rows = stateful_input(spark, spec, ledger).where("false")
    assert listed(replayed(spark, spec, rows, tmp_path, START)) == []
