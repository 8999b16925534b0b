"""The index of event times: no record of a span is elsewhere than the slices say."""

import itertools
import json
import random
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import duckdb
import pytest

from local.deliveries import Mess, deliver
from local.flights import flight_events
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.decode import slices as noting
from spark_jobs.decode.slice_notes import SliceNotes
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.slices import Index
from spark_jobs.source.consumer import count_records
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Sliding
from spark_jobs.storage import failpoint
from spark_jobs.values.spans import Span
from tests.harness.long_form import long_form
from tests.harness.scene import Scene
from tests.harness.turns import held_by

pytestmark = held_by("unit/test_slices.py", "unit/test_late_spans.py")

DELAYS = registry.load("departure_delays")
FIRST, DEDUPLICATE, BY_HOUR = DELAYS.steps
SLIDING = BY_HOUR.model_copy(update={"window": Sliding(size="1 hour", slide="20 minutes")})
FORMS = {
    "rows": registry.load("flight_events"),
    "rows, then windows": DELAYS,
    "windows": DELAYS.model_copy(update={"steps": (FIRST, BY_HOUR)}),
    "sliding windows": DELAYS.model_copy(update={"steps": (FIRST, SLIDING)}),
    "events": registry.load("aircraft_rotations"),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Slices of few offsets."""
    monkeypatch.setattr(noting, "LEAST_OFFSETS", 20)


def ends(made: Scene) -> Positions:
    checkpoint = Checkpoint(made.paths.checkpoint)
    return checkpoint.batch(checkpoint.committed()[-1]).end


def noted(made: Scene) -> Index:
    known = read_identity(made.paths)
    return Index.read(made.paths, known.generations, Positions(), ends(made))


def events(made: Scene) -> list[dict[str, Any]]:
    """What was sent and has an event time, as far as it passes the first Transform."""
    where = " AND ".join(step.where or "" for step in made.spec.before_state) or "true"
    with duckdb.connect() as db:
        db.sql("SET TimeZone = 'UTC'")
        ledger = made.ledger  # noqa: F841 - DuckDB finds it by its name
        sent = db.sql(f"SELECT * FROM ledger WHERE event_time IS NOT NULL AND ({where})")
        found: list[dict[str, Any]] = sent.to_arrow_table().to_pylist()
    return found


def kept(made: Scene) -> set[tuple[int, int]]:
    return {
        (row["partition"], row["offset"])
        for table in ("late", "quarantine")
        for row in made.ops(table, '"partition", "offset"')
    }


def lost(made: Scene, sent: Iterable[dict[str, Any]], *spans: Span) -> list[dict[str, Any]]:
    """The events of the spans that are neither where the slices say nor kept."""
    index, aside = noted(made), kept(made)
    places = index.overlapping(spans), index.lacking
    return [
        row
        for row in sent
        if any(span.start <= row["event_time"] < span.end for span in spans)
        and (row["partition"], row["offset"]) not in aside
        and not any(
            first <= row["offset"] < stop
            for parts in places
            for first, stop in parts.get(row["partition"], ())
        )
    ]


def assert_nothing_is_lost(made: Scene, seed: int = 7) -> None:
    chance, sent = random.Random(seed), events(made)
    times = sorted(row["event_time"] for row in sent if row["kind"] != "premature")
    for _ in range(60):
        spans = []
        for _ in range(chance.randint(1, 3)):
            start = chance.choice(times) + timedelta(minutes=chance.randint(-90, 90))
            spans.append(Span(start, start + timedelta(minutes=chance.choice([1, 60, 60 * 24]))))
        assert lost(made, sent, *spans) == []


def assert_tiled(made: Scene) -> None:
    """Each offset that was drained is in one slice, and each record is counted once."""
    assert noted(made).lacking == {}
    rows = made.ops("slices")
    of = {
        (row["batch_id"], partition): []
        for row in made.ops("batches")
        for partition in json.loads(row["offsets_end"])
    }
    for row in rows:
        of[row["batch_id"], str(row["partition"])].append(row)
    for batch in made.ops("batches"):
        start, end = json.loads(batch["offsets_start"]), json.loads(batch["offsets_end"])
        for partition, stop in end.items():
            at = start.get(partition, 0)
            found = of[batch["batch_id"], partition]
            for row in sorted(found, key=lambda row: row["first_offset"]):
                assert row["first_offset"] == at
                at = row["last_offset"] + 1
            assert at == stop
        records = [row["records"] for row in rows if row["batch_id"] == batch["batch_id"]]
        assert sum(records) == batch["read"]


WAYS = {"a batch a run": None, "many batches a run": 150}
SHORT = {("rows, then windows", "a batch a run")}
"""Runs that are cut off have many batches."""


@pytest.mark.parametrize(
    ("form", "most"),
    [
        pytest.param(
            form, most, id=f"{form}, {way}", marks=[] if (form, way) in SHORT else [long_form]
        )
        for form in FORMS
        for way, most in WAYS.items()
    ],
)
def test_no_record_of_a_span_is_lost_and_what_is_late_makes_no_slice_wider(scene, form, most):
    made = scene(FORMS[form], events=1200, deliveries=3, max_offsets_per_batch=most)
    for number in range(3):
        made.deliver()
        made.run(f"run-{number}")
    assert_tiled(made)
    assert_nothing_is_lost(made)
    rows = made.ops("slices")
    assert sum(row["late"] for row in rows) > 0
    marks = {row["batch_id"]: row["late_before"] for row in made.ops("batches")}
    late = [row for row in rows if row["first_event_time"] and marks[row["batch_id"]]]
    if most is None:  # else it is told from the watermark of an earlier batch
        entry = made.spec.entry
        assert entry
        behind = entry.late_after or timedelta()
        assert all(row["first_event_time"] > marks[row["batch_id"]] - behind for row in late)


@pytest.mark.parametrize("place", ["planned", "table.committed", "audit", "audited"])
def test_a_run_that_is_cut_off_leaves_slices_that_the_next_completes(drained, monkeypatch, place):
    drained.change(max_offsets_per_batch=150)
    with monkeypatch.context() as cut:
        cut.setitem(failpoint.ACTIVE, place, "raise")
        assert drained.drain("cut off").problem is not None
    drained.run("next")
    assert_tiled(drained)
    assert_nothing_is_lost(drained)


def test_a_batch_whose_notes_are_lost_has_no_slices_and_is_read_in_full(drained, monkeypatch):
    made = drained
    before, first = noted(made).lacking, Positions().count(ends(made))
    with monkeypatch.context() as off:
        take = SliceNotes.take
        off.setattr(SliceNotes, "take", lambda *of: take(*of)[1:])
        made.run("lost")
    assert {row["batch_id"] for row in made.ops("slices")} == {0}
    assert before == {}
    lacking = noted(made).lacking
    assert offsets_in(lacking) == Positions().count(ends(made)) - first
    assert count_records(made.settings, made.topic, lacking) == offsets_in(lacking)
    assert_nothing_is_lost(made)


def test_a_first_load_in_one_batch_is_sharp(scene, monkeypatch):
    """A day of 59 reads about a day; out of order, but none by days: nothing is late."""
    monkeypatch.setattr(noting, "LEAST_OFFSETS", 10)
    every = itertools.islice(flight_events(date(2013, 1, 1), 2), 0, None, 10)
    mess = Mess(late_share=0, premature_share=0.01, malformed_share=0.01)
    made = scene("departure_delays", deliveries=1)
    records = deliver(every, mess, 7)
    made._parts = iter([(1, records)])  # noqa: SLF001 - other records than a scene's usual ones
    made.deliver()
    assert made.run("first load").batches[0] == 0
    assert max(row["read"] for row in made.ops("batches")) == len(records), "it is one batch"
    assert_tiled(made)
    times = [row["event_time"] for row in events(made) if row["kind"] != "premature"]
    days = (max(times) - min(times)) / timedelta(days=1)
    for day in range(2, 57, 9):
        start = datetime(2013, 1, 1, tzinfo=UTC) + timedelta(days=day)
        index = noted(made)
        read = index.records_at(index.overlapping([Span(start, start + timedelta(days=1))]))
        assert 0 < read < 1.5 * len(records) / days
    assert_nothing_is_lost(made)
