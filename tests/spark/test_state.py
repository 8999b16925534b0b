"""`sluice state`: what steps remember after each batch, against plain Python and DuckDB."""

import hashlib
import json
import math
import os
import re
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import StateUnreadable
from spark_jobs.launch import session as spark_session
from spark_jobs.launch.submit import environment
from spark_jobs.messages.job import StateQuery
from spark_jobs.messages.state_answer import StepAnswer, read_answer
from spark_jobs.runs.told.state_view import state_view
from spark_jobs.spec import State
from spark_jobs.state.reader import operators, read
from spark_jobs.storage.root.path_forms import state_url
from tests.harness import oracle
from tests.harness.costs import made_once
from tests.harness.long_form import LONG
from tests.harness.ran import ran
from tests.harness.refused import fails, has
from tests.harness.scene import Scene
from tests.harness.turns import held_by
from tests.harness.verifier import ENTERS
from tests.spark import operators as forms, processors

pytestmark = held_by(
    "unit/test_state_query.py", "unit/test_state_measures.py", "unit/test_state_text.py"
)

DELAY = timedelta(hours=2)
UNSEEN_AFTER = timedelta(hours=48)
PATIENCE_SECONDS = 120
NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def scenes(kafka, tmp_path_factory):
    """Pipeline -> a scene that was drained in many batches."""
    made = {}

    def of(pipeline: str) -> Scene:
        if pipeline not in made:
            folder = tmp_path_factory.mktemp(pipeline)
            scene = Scene(
                kafka,
                folder,
                pipeline,
                events=3000,
                deliveries=1,
                stores=1,
                max_offsets_per_batch=800,
            )
            scene.deliver()
            scene.run()
            made[pipeline] = scene
        return made[pipeline]

    return of


@pytest.fixture(scope="module")
def kept(scenes):
    """Pipeline -> the steps of the answer that is kept for the views, with values."""

    @made_once
    def of(pipeline: str) -> tuple[StepAnswer, ...]:
        scene = scenes(pipeline)
        settings = scene.settings._replace(record_bytes="shown")
        list(state_view(scene.spec, settings, StateQuery(keep=True)))
        found = read_answer(scene.paths)
        scene.paths.state_answer.unlink()
        return found.steps

    return of


def asked(scene: Scene, **query) -> list[str]:
    return list(state_view(scene.spec, scene.settings, StateQuery(**query)))


def remembered(spark, scene, step, batch, variable="", **keys) -> list[dict]:
    """The rows of a variable, by column."""
    stateful = [number for number, each in enumerate(scene.spec.steps, 1) if each.stateful]
    operator = operators(spark, state_url(scene.paths.checkpoint), batch)[stateful.index(step)]
    named = next(each for each in operator.variables if each.name == variable)
    table = read(
        spark,
        state_url(scene.paths.checkpoint),
        batch,
        operator,
        named,
        scene.spec.steps[step - 1],
        keys,
        100_000,
    )
    assert len(table.rows) == table.total
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]


def batches(scene: Scene) -> list[int]:
    found = Checkpoint(scene.paths.checkpoint).readable()
    assert len(found) > 3, "a scene of few batches proves little"
    return found


def looked_at(scene: Scene) -> list[int]:
    """The first batch, one amid and the last; all in the long form."""
    found = batches(scene)
    return found if LONG else [found[0], found[len(found) // 2], found[-1]]


def watermark(scene: Scene, batch: int) -> datetime:
    return Checkpoint(scene.paths.checkpoint).watermark(batch) or NEVER


def entered(scene: Scene, batch: int) -> list[oracle.Row]:
    """The events that had reached the first stateful step when a batch was over."""
    end = Checkpoint(scene.paths.checkpoint).batch(batch).end.by_partition
    ledger = scene.ledger
    places = zip(
        ledger.column("partition").to_pylist(), ledger.column("offset").to_pylist(), strict=True
    )
    so_far = ledger.filter([offset < end[partition] for partition, offset in places])
    with oracle._duck(found=oracle.events(so_far, scene.late())) as db:  # noqa: SLF001 - in UTC, as the oracle works
        rows = (
            db.sql(f"SELECT * FROM found WHERE {ENTERS[scene.spec.name]}")
            .to_arrow_table()
            .to_pylist()
        )
    return [row | {"event_time": row["event_time"].astimezone(UTC)} for row in rows]


def open_groups(scene: Scene, batch: int) -> list[oracle.Row]:
    """The hours of departure_delays that the watermark has not passed."""
    import pyarrow as pa  # noqa: PLC0415

    later = datetime(2100, 1, 1, tzinfo=UTC)
    groups = oracle.departure_delays(pa.Table.from_pylist(entered(scene, batch)), later)
    return [row for row in groups if row["window_end"].astimezone(UTC) > watermark(scene, batch)]


def hashes(folder: Path) -> dict[str, tuple[str, int]]:
    """Every file and folder below, with its content and the time it was last written."""
    return {
        str(path): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_mtime_ns,
        )
        for path in folder.rglob("*")
    }


def test_after_a_batch_the_ids_are_those_that_the_watermark_has_not_forgotten(spark, scenes):
    scene = scenes("flight_events")
    told = {row["batch_id"]: row["state_rows"] for row in scene.ops("batches")}
    for batch in looked_at(scene):
        expected = {
            row["event_id"]: row["event_time"] + DELAY
            for row in entered(scene, batch)
            if row["event_time"] + DELAY > watermark(scene, batch)
        }
        assert {
            row["event_id"]: row["expires_at"] for row in remembered(spark, scene, 1, batch)
        } == expected
        assert told[batch] == len(expected)


def test_after_a_batch_the_open_groups_are_those_of_duckdb_under_the_measures_names(spark, scenes):
    scene = scenes("departure_delays")
    for batch in looked_at(scene):
        found = remembered(spark, scene, 3, batch)
        for row in found:
            counted, total = row.pop("mean_delay_minutes.count"), row.pop("mean_delay_minutes.sum")
            row["mean_delay_minutes"] = total / counted if counted else None
        assert oracle.comparable(found) == oracle.comparable(open_groups(scene, batch))


def test_an_aircraft_is_out_waits_and_has_timers_as_plain_python_says(spark, scenes):
    scene = scenes("aircraft_rotations")
    for batch in (batches(scene)[len(batches(scene)) // 2], batches(scene)[-1]):
        now = watermark(scene, batch)
        departures = sorted(
            (row["tail_number"], row["event_time"], row["event_id"])
            for row in entered(scene, batch)
        )
        waiting = {(tail, at, event) for tail, at, event in departures if at > now}
        last = {tail: (tail, at, event) for tail, at, event in departures if at <= now}
        out = {each for each in last.values() if each[1] + UNSEEN_AFTER > now}
        assert waiting
        assert out
        assert _departures(remembered(spark, scene, 3, batch, "waiting")) == waiting
        assert _departures(remembered(spark, scene, 3, batch, "out")) == out
        timers = {
            (row["tail_number"], row["due"])
            for row in remembered(spark, scene, 3, batch, "event-time timers")
        }
        assert {(tail, at) for tail, at, _ in waiting} <= timers
        assert {(tail, at + UNSEEN_AFTER) for tail, at, _ in out} <= timers
        assert all(due > now for _, due in timers)


def _departures(rows):
    found = [
        (row["tail_number"], datetime.fromtimestamp(row["at_ms"] / 1000, UTC), row["event_id"])
        for row in rows
    ]
    assert len(set(found)) == len(found)
    return set(found)


def test_a_key_is_found_by_some_of_its_columns_in_every_step_that_has_them(spark, scenes):
    scene = scenes("departure_delays")
    batch = batches(scene)[-1]
    group = max(open_groups(scene, batch), key=lambda row: row["flights"])
    key = {name: group[name] for name in ("carrier", "origin")}
    key["window_start"] = group["window_start"].isoformat()
    [found] = remembered(spark, scene, 3, batch, **key)
    assert found["flights"] == group["flights"]
    first, second = (line for line in asked(scene, limit=1) if line.startswith(scene.spec.name))
    assert "step 2 deduplicate" in first
    assert "step 3 aggregate" in second


def change(was_there: bool, is_there: bool) -> str:
    if not was_there:
        return "appeared"
    return "changed" if is_there else "removed"


def test_the_changes_of_a_key_are_the_differences_of_the_states_that_duckdb_gives(scenes):
    scene = scenes("departure_delays")
    group = max(open_groups(scene, batches(scene)[-1]), key=lambda row: row["flights"])
    states = [
        {
            row["window_start"]: row
            for row in open_groups(scene, batch)
            if (row["carrier"], row["origin"]) == (group["carrier"], group["origin"])
        }
        for batch in batches(scene)
    ]
    expected = []
    for before, after in zip([{}, *states], states, strict=False):
        expected.append(
            Counter(
                change(start in before, start in after)
                for start in before.keys() | after.keys()
                if before.get(start) != after.get(start)
            )
        )
    keys = (f"carrier={group['carrier']}", f"origin={group['origin']}")
    _, *lines = asked(scene, keys=keys, changes=True, batches=100, limit=10_000)
    found, heads = [], []
    for line in lines:
        if line.startswith("batch"):
            heads.append(int(line.split()[1].rstrip(",")))
            found.append(Counter())
        else:
            found[-1][line.split("  ")[1].strip()] += 1
    assert heads == batches(scene)[::-1]
    assert found == expected[::-1]
    assert {kind for each in found for kind in each} == {"appeared", "changed", "removed"}


@pytest.mark.parametrize(
    "query", [{}, {"batch": 1}, {"keys": ("tail_number=N14228",), "changes": True}], ids=str
)
def test_nothing_under_the_root_is_touched_and_a_holder_of_the_lease_not_in_the_way(scenes, query):
    scene = scenes("aircraft_rotations")
    with lease(scene.paths.lease, "a run"):
        before = hashes(Path(scene.settings.root))
        assert len(asked(scene, **query)) > 3
        assert hashes(Path(scene.settings.root)) == before


def test_a_kept_answer_has_the_counts_that_are_shown_and_rows_only_where_bytes_may_be_seen(scenes):
    scene = scenes("aircraft_rotations")
    for shown in ("hidden", "shown"):
        settings = scene.settings._replace(record_bytes=shown)
        told = list(state_view(scene.spec, settings, StateQuery(keep=True, limit=3)))
        kept = read_answer(scene.paths)
        variables = [each for step in kept.steps for each in step.variables]
        assert [each.title for each in variables] == [
            line for line in told if re.match(r".*[0-9] rows?(;|$)", line)
        ]
        assert [len(each.rows) for each in variables] == [
            min(3, each.total) if shown == "shown" else 0 for each in variables
        ]
        sizes = [step.sizes for step in kept.steps]
        assert all(each.keys and len(each.largest) == min(10, each.keys) for each in sizes)
        assert {len(key.key) for each in sizes for key in each.largest} == {
            1 if shown == "shown" else 0
        }
        first = next((row for each in variables for row in each.rows), None)
        assert first is None or any(first[0] in line for line in told)
    scene.paths.state_answer.unlink()


def row_bytes(*texts: str, fixed: int = 0, windows: int = 0) -> int:
    """Of Spark's UnsafeRow: a word for each field and for their nulls, then texts in whole words,
    and of each window a row of two.
    """
    words = 1 + len(texts) + fixed + windows
    return 8 * (words + 3 * windows + sum(-(-len(each.encode()) // 8) for each in texts))


def test_keys_are_counted_by_their_bytes_as_plain_python_says(scenes, kept):
    scene = scenes("departure_delays")
    batch = batches(scene)[-1]
    ids, groups = (step.sizes for step in kept(scene.spec.name))
    size = Counter[tuple[str, str]]()
    for row in open_groups(scene, batch):
        key = (row["carrier"], row["origin"])
        buffers = len(scene.spec.steps[2].measures) + 1  # a mean is a sum and a count
        size[key] += row_bytes(*key, windows=1) + row_bytes(fixed=buffers)
    assert (groups.keys, groups.rows) == (len(size), len(open_groups(scene, batch)))
    assert groups.bytes == size.total()
    powers = Counter(math.floor(math.log2(each)) for each in size.values())
    assert {each.power: each.keys for each in groups.powers} == powers
    assert groups.columns == ("carrier", "origin")
    assert [each.bytes for each in groups.largest] == sorted(size.values(), reverse=True)[:10]
    assert all(size[each.key] == each.bytes for each in groups.largest)
    assert (ids.keys, ids.untimed) == (ids.rows, None)


def test_rows_expire_in_the_hours_that_plain_python_says(scenes, kept):
    for name, step in (("flight_events", 0), ("departure_delays", 1)):
        scene = scenes(name)
        batch = batches(scene)[-1]
        now = watermark(scene, batch)
        due = (
            {row["event_id"]: row["event_time"] + DELAY for row in entered(scene, batch)}.values()
            if name == "flight_events"
            else [row["window_end"].astimezone(UTC) for row in open_groups(scene, batch)]
        )
        [found] = kept(name)[step].expiry
        assert (found.by, found.since, found.later, found.never) == ("watermark", now, 0, 0)
        hours = Counter(math.ceil((each - now) / timedelta(hours=1)) for each in due if each > now)
        assert {each.hours: each.rows for each in found.spans} == hours
        assert max(hours) > 1, "all in one hour proves little"


def test_timers_fire_in_the_hours_that_their_rows_say_and_keys_without_one_are_told(
    spark, scenes, kept
):
    scene = scenes("aircraft_rotations")
    batch = batches(scene)[-1]
    now = watermark(scene, batch)
    rows = remembered(spark, scene, 3, batch, "event-time timers")
    step = kept("aircraft_rotations")[-1]
    timers = {each.variable: each for each in step.expiry}["event-time timers"]
    assert timers.counted == "timers"
    for hours in (0, 1, 24, 48):
        until = now + timedelta(hours=hours)
        assert timers.within(hours) == sum(row["due"] <= until for row in rows)
    assert timers.within(24) > timers.within(1) > 0
    tails = {row["tail_number"] for row in rows}
    held = {
        row["tail_number"]
        for name in ("waiting", "out")
        for row in remembered(spark, scene, 3, batch, name)
    }
    assert (step.sizes.keys, step.sizes.untimed) == (len(held | tails), len(held - tails))


def test_a_session_is_shown_once_with_its_bounds(spark, scene):
    form = forms.named("rush_hours")
    made = scene(form.spec, events=1500, deliveries=1)
    made.deliver_all()
    made.run()
    batch = Checkpoint(made.paths.checkpoint).readable()[-1]
    found = remembered(spark, made, 2, batch)
    assert set(found[0]) == {
        "window_start",
        "carrier",
        "origin",
        "window_end",
        "flights",
        "miles",
        "worst",
    }
    assert all(
        row["window_start"] < row["window_end"] and row["window_end"] > watermark(made, batch)
        for row in found
    )
    last = found[-1]
    key = {name: last[name] for name in ("carrier", "origin")}
    key["window_end"] = last["window_end"].isoformat()
    assert remembered(spark, made, 2, batch, **key) == [last]


def test_the_heaps_store_is_read_too(spark, scene):
    made = scene("flight_events", events=600, deliveries=1, state=State(provider="hdfs"))
    made.deliver_all()
    made.run()
    assert Checkpoint(made.paths.checkpoint).readable()[0] == 0
    _, rows, *_, sizes, expiry = asked(made, batch=0, measured=True)
    assert rows.startswith(f"{len(entered(made, 0)):,} rows")
    assert sizes == "key sizes: its store does not tell them"
    assert expiry.startswith("rows expire with the watermark: ")


def test_what_spark_has_purged_is_refused_with_what_there_is(scene, monkeypatch):
    made = scene("flight_events", events=800, deliveries=2, max_offsets_per_batch=70)
    usual = spark_session.dynamic
    made.deliver()
    made.run("run-0")
    monkeypatch.setattr(
        spark_session,
        "dynamic",
        lambda state: usual(state) | {"spark.sql.streaming.minBatchesToRetain": "4"},
    )
    made.change(max_offsets_per_batch=None)  # few batches, so that the audit is not overtaken
    made.deliver()
    made.run("run-1")
    last = Checkpoint(made.paths.checkpoint).readable()[-1]
    # From where on: Spark's maintenance goes on removing after the query has ended.
    with fails(StateUnreadable, "batch_purged", batch=0, available=has(f" to {last}")):
        asked(made, batch=0)
    with fails(StateUnreadable, "batch_absent"):
        asked(made, batch=last + 1)
    key = f"event_id={entered(made, last)[0]['event_id']}"
    assert asked(made, keys=(key,), changes=True, batches=100)[-1].endswith(
        "its changes are unknown, because Spark has purged the state before it"
    )


@pytest.fixture
def letters(spark, tmp_path):
    """A stream of six rows: k is a and b, n is 0 to 2."""
    spark_session.session("letters", State())
    lines = [
        json.dumps({"k": k, "n": n, "at": f"2026-01-01T00:00:0{n}Z"})
        for k in "ab"
        for n in range(3)
    ]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.json").write_text("\n".join(lines))
    stream = spark.readStream.schema("k string, n bigint, at timestamp").json(str(tmp_path / "in"))
    return stream.withWatermark("at", "1 second").groupBy("k")


def first_batch(rows, checkpoint: Path) -> str:
    """Run one batch. Not availableNow, under which processing time never lets a query end."""
    query = (
        rows.writeStream.format("noop")
        .outputMode("append")
        .option("checkpointLocation", str(checkpoint))
        .start()
    )
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while not (checkpoint / "commits" / "0").exists():
            assert time.monotonic() < deadline, (
                f"no batch was committed within {PATIENCE_SECONDS} s: {query.status}"
            )
            assert not query.awaitTermination(0.2), query.exception()
    finally:
        query.stop()
    return str(checkpoint)


@pytest.mark.parametrize("pandas", [False, True], ids=["rows", "pandas"])
def test_every_kind_of_variable_its_ttl_and_timers_are_read(spark, letters, tmp_path, pandas):
    start = datetime.now(UTC)
    transformed = (
        letters.transformWithStateInPandas(
            processors.Frames(), "k string", "Append", "ProcessingTime"
        )
        if pandas
        else letters.transformWithState(processors.Rows(), "k string", "Append", "ProcessingTime")
    )
    path = first_batch(transformed, tmp_path / "checkpoint")
    [operator] = operators(spark, path, 0)
    found = {}
    for variable in operator.variables:
        table = read(spark, path, 0, operator, variable, None, {"k": "b"}, 100)
        found[variable.name] = [dict(zip(table.names, row, strict=True)) for row in table.rows]
    assert list(found) == ["all", "by_letter", "last", "processing-time timers"]
    hours = {"all": 2, "last": 1}
    for name, kept in hours.items():
        for row in found[name]:
            assert start < row.pop("expires_at") - timedelta(hours=kept) < datetime.now(UTC)
    assert found["last"] == [{"k": "b", "n": 2}]
    assert found["all"] == [{"k": "b", "n": n} for n in range(3)], (
        "in the order in which they were appended"
    )
    assert found["by_letter"] == [{"k": "b", "letter": "abc"[n], "n": n} for n in range(3)]
    [timer] = found["processing-time timers"]
    assert start < timer["due"] - timedelta(hours=1) < datetime.now(UTC)


def test_the_state_of_apply_in_pandas_has_its_columns_and_its_timeout(spark, letters, tmp_path):
    kept = "total bigint, word string"
    rows = letters.applyInPandasWithState(
        processors.summed, "k string", kept, "append", "EventTimeTimeout"
    )
    path = first_batch(rows, tmp_path / "checkpoint")
    [operator] = operators(spark, path, 0)
    table = read(spark, path, 0, operator, operator.variables[0], None, {}, 100)
    assert table.names == ("k", "total", "word", "timeout_at")
    timeout = datetime.fromtimestamp(1_900_000_000, UTC)
    assert table.rows == (("a", 3, "seen", timeout), ("b", 3, "seen", timeout))


def test_the_command_reads_it_in_a_session_that_never_streamed(kafka, tmp_path):
    made = Scene(kafka, tmp_path, "departure_delays", events=600, deliveries=1, topic="flights")
    made.deliver_all()
    made.run()
    before = hashes(Path(made.settings.root))
    words = ("state", "departure_delays", "--limit", "2")
    env = {**os.environ, **environment(made.settings)}
    result = ran(Path(sys.executable).parent / "sluice", *words, env=env, cwd=None)
    assert result.returncode == 0, result.stdout + result.stderr
    told = result.stdout.splitlines()
    at = next(place for place, line in enumerate(told) if "step 3 aggregate" in line)
    total, names, *rows = told[at + 1 : at + 5]
    assert total.endswith("the first 2 are shown")
    assert "mean_delay_minutes.sum" in names
    assert len(rows) == 2
    assert [line.partition(":")[0] for line in told[at + 5 :]] == [
        "keys", "bytes of a key", "largest key", "rows expire with the watermark",
        "state", "state", "step 2 deduplicate", "step 3 aggregate",
    ]  # fmt: skip
    assert sum("No forecast: 1 runs so far" in line for line in told) == 2
    assert hashes(Path(made.settings.root)) == before
