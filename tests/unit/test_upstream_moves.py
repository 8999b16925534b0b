"""What a reader of a table's rows finds in its log: real tables of delta-rs."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.notes.noted_versions import Pinned, Pins
from spark_jobs.draft.sample import of_source
from spark_jobs.errors import AccountBehind, CheckpointBroken, SpecInvalid, UpstreamUnfit
from spark_jobs.registry import find as registry
from spark_jobs.registry.output import output_types
from spark_jobs.settings.installation import Settings
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import source_of
from spark_jobs.spec import (
    Aggregate,
    Field,
    Latest,
    Pipeline,
    Schedule,
    Table,
    Transform,
    Tumbling,
    WhenData,
)
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.root.paths import Paths
from spark_jobs.upstream import noted
from spark_jobs.upstream.data_source import Stream
from spark_jobs.upstream.file_rows import NO_JSON, as_json, rows_of
from spark_jobs.upstream.table_log import identity_of, live_files, log_of, moves
from tests.harness.refused import fails
from tests.unit.checkpoints import begin, commit_batch, plan_batch

HOUR = timedelta(hours=1)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Tables:
    """A table, written by delta-rs."""

    def __init__(self, folder) -> None:
        self.path = str(folder / "t")

    def append(self, *hours: int) -> int:
        times = pa.array([NOON + HOUR * at for at in hours], pa.timestamp("us", "UTC"))
        made = pa.table({"at": times, "n": pa.array(hours, pa.int64())})
        deltalake.write_deltalake(self.path, made, mode="append")
        return self.newest

    @property
    def delta(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(self.path)

    @property
    def newest(self) -> int:
        return self.delta.version()

    @property
    def read(self) -> noted.Table:
        log = log_of("t", UPath(self.path))
        return noted.Table("t", "at", UPath(self.path), log, identity_of("t", log))

    def moves(self, since: int):
        return moves(self.read.log, since, self.newest, "at")

    def rows(self, *files) -> list[int]:
        columns = {"n": "bigint"}
        parts = (part for file in files for part in rows_of(self.path, file, columns))
        return sorted(n for part in parts for n in part.column("n").to_pylist())


@pytest.fixture
def table(tmp_path) -> Tables:
    return Tables(tmp_path)


def test_appended_rows_are_read_in_order_wherever_an_optimize_has_moved_them(table):
    since = table.append(1)
    table.append(2)
    table.append(3)
    table.delta.optimize.compact()
    found = table.moves(since)
    assert ([table.rows(each.file) for each in found.appended], found.replaced) == (
        [[2], [3]],
        False,
    )
    assert table.rows(*found.live.values()) == [1, 2, 3]


def test_rows_that_were_replaced_before_a_reader_saw_them_are_not_read(table):
    since = table.append(1)
    table.append(2, 3)
    table.append(4)
    table.delta.optimize.compact()
    table.delta.update(updates={"n": "n + 10"}, predicate="n = 2")
    found = table.moves(since)
    assert (found.appended, found.replaced) == ((), True), "OPTIMIZE had joined the two"
    table.append(5)
    assert [table.rows(each.file) for each in table.moves(since).appended] == [[5]]


def test_a_restore_replaces_whatever_it_adds(table):
    since = table.append(1)
    table.append(2)
    table.delta.delete("n = 1")
    table.delta.restore(since)
    assert table.moves(since).replaced
    assert table.rows(*table.moves(since).live.values()) == [1]


def test_numbers_stay_and_only_the_files_of_a_version_are_in_it(table):
    first = table.append(1, 2)
    begun = noted.begun(table.read, first)
    assert (begun.ends, [each.rows for each in begun.live(first)]) == ((2, 0), [2])
    table.append(3)
    second = table.append(4)
    known = noted.followed(begun, first, table.read, second)
    assert known.ends == (4, 0)
    table.delta.optimize.compact()
    third = table.newest
    moved = noted.followed(known, second, table.read, third)
    assert (moved.ends, [each.partition for each in moved.live(third)]) == ((4, 4), [1])
    assert table.rows(*moved.live(third)) == [1, 2, 3, 4] == table.rows(*moved.live(second))
    back = noted.followed(moved, first, table.read, second)
    assert (back.ends, table.rows(*back.live(second))) == ((4, 4), [1, 2, 3, 4])
    assert noted.followed(moved, third, table.read, third).files == moved.files


def commit(table: Tables, *actions: dict) -> int:
    """As the published table has it, by hand."""
    version = table.newest + 1
    lines = ({"commitInfo": {"operation": "SLUICE PUBLISH", "timestamp": 1}}, *actions)
    log = UPath(table.path) / "_delta_log" / f"{version:020}.json"
    log.write_text("\n".join(map(json.dumps, lines)))
    return version


def added(table: Tables, version: int) -> dict:
    text = (UPath(table.path) / "_delta_log" / f"{version:020}.json").read_text()
    [action] = [line for line in map(json.loads, text.splitlines()) if "add" in line]
    return action


def test_a_file_that_comes_back_is_in_a_version_once(table):
    table.append(1)
    second = table.append(2)
    known = noted.begun(table.read, second)
    table.delta.delete("n = 2")
    third = table.newest
    known = noted.followed(known, second, table.read, third)
    fourth = commit(table, added(table, second))
    again = noted.followed(known, third, table.read, fourth)
    assert table.rows(*again.live(fourth)) == [1, 2]
    assert again.ends == (3, 0), "drains have the row twice, and its time was marked"
    at_once = noted.followed(known, second, table.read, fourth)
    assert (at_once.ends, table.rows(*at_once.live(fourth))) == ((2, 0), [1, 2])


def test_a_table_that_counts_its_versions_from_0_again_keeps_the_numbers_that_were_read(table):
    for at in range(4):
        table.append(at)
    known = noted.begun(table.read, table.newest)
    shutil.rmtree(table.path)
    first = table.append(0, 1, 2, 3)
    anew = noted.followed(known.among(first), first, table.read, first)
    assert (anew.ends, table.rows(*anew.live(first))) == ((4, 4), [0, 1, 2, 3])
    second = table.append(4)
    after = noted.followed(anew, first, table.read, second)
    assert after.ends == (5, 4), "a number that was read is none of a later row"
    was, now = (Pin(table_id=each, version=at) for each, at in (("a", 9), ("b", 0)))
    assert Pinned({"t": now}, {"t": was}, 4).since == {"t": None}
    same = now.model_copy(update={"version": 3})
    assert Pinned({"t": same}, {"t": now}, 4).since == {"t": 0}


def test_rows_that_were_forgotten_or_lost_before_a_drain_read_them_are_missed(table):
    first = table.append(1)
    known = noted.begun(table.read, first)
    for at in (2, 3, 4):
        table.append(at)
    known = noted.followed(known, first, table.read, table.newest)
    assert known.missing(1, lambda _: False) == 0
    table.delta.optimize.compact()
    moved = noted.followed(known, table.newest - 1, table.read, table.newest)
    assert [moved.missing(1, lambda f, at=at: f.first == at) for at in (1, 2, 3)] == [4, 4, 3]
    forgotten = moved.model_copy(update={"files": moved.files[:2] + moved.files[3:]})
    assert [forgotten.missing(at, lambda _: True) for at in (0, 2, 3)] == [3, 3, 0]


def test_a_stream_ends_where_its_rows_do_however_far_a_run_had_looked(table, tmp_path):
    """The rows that it had looked at were replaced until the run noted the version."""
    first = table.append(1, 2)
    known = noted.begun(table.read, first)
    known.put(UPath(tmp_path) / "rows.json", None)
    options = {"noted": str(tmp_path / "rows.json"), "columns": "{}", "topic": "t"}

    def end(**given: str) -> dict:
        stream = Stream(options | given)
        stream.prepareForTriggerAvailableNow()
        return stream.latestOffset({"t": {"0": 0}}, None)

    assert [end(**at)["t"]["0"] for at in ({}, {"until": "0"}, {"until": "1"}, {"until": "9"})] == [
        2,
        0,
        1,
        2,
    ]


def test_a_file_whose_last_time_is_the_last_of_all_has_statistics(table):
    end = datetime.max.replace(tzinfo=UTC)
    times = pa.array([end], pa.timestamp("us", "UTC"))
    deltalake.write_deltalake(table.path, pa.table({"at": times, "n": [1]}))
    [file] = table.moves(-1).live.values()
    assert file.last == end


def test_a_batch_ends_behind_a_commit_and_rounds_up(table):
    first = table.append(1)
    known = noted.begun(table.read, first)
    for hours in ((2, 3, 4), (5,), (6, 7)):
        table.append(*hours)
    known = noted.followed(known, first, table.read, table.newest)
    assert [known.until(1, 7, most) for most in (1, 3, 4, 5, None)] == [4, 4, 5, 7, 7]


def test_a_reader_that_begins_reads_files_by_their_times(table):
    for hours in ((50, 60), (1, 5), (4, 9)):
        table.append(*hours)
    known = noted.begun(table.read, table.newest)
    assert table.rows(known.files[0]) == [1, 5]
    assert [each.cut for each in known.files] == [False, True, True]


def test_what_cannot_be_numbered_is_refused(table):
    version = table.append(1)
    log = UPath(table.path) / "_delta_log" / f"{version:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"].pop("stats")
    log.write_text("\n".join(map(json.dumps, lines)))
    with fails(UpstreamUnfit, "uncounted"):
        live_files(table.read.log, version, "at")


def test_a_log_that_does_not_tell_all_files_is_refused(table):
    for at in range(3):
        table.append(at)
    (UPath(table.path) / "_delta_log" / f"{1:020}.json").unlink()
    with fails(UpstreamUnfit, "log_gone"):
        _ = table.read


def test_a_row_is_written_as_json_with_each_digit_or_made_malformed():
    columns = {"d": "decimal(20,2)", "f": "double", "b": "binary"}
    rows = pa.record_batch(
        {
            "d": pa.array([Decimal("123456789012345678.90")] * 2, pa.decimal128(20, 2)),
            "f": pa.array([0.1, float("nan")]),
            "b": pa.array([b"\x00\xff"] * 2),
        }
    )
    first, second = as_json(rows, columns)
    assert first == b'{"d":123456789012345678.90,"f":0.1,"b":"AP8="}'
    assert b"NaN" in second
    far = pa.record_batch({"t": pa.array([2**62], pa.timestamp("us", "UTC"))})
    assert as_json(far, {"t": "timestamp"}) == [NO_JSON]


def test_a_map_is_an_object_or_makes_its_row_malformed():
    kind = pa.map_(pa.int64(), pa.float64())
    rows = pa.record_batch({"m": pa.array([[(1, 0.5)], [(2, 1.0), (2, 3.0)]], kind)})
    assert as_json(rows, {"m": "map<bigint,double>"}) == [b'{"m":{"1":0.5}}', NO_JSON]


SHOP = Field(name="shop", type="string")
TABLE = Table(path="/data/t", event_time="at", fields=(Field(name="at", type="timestamp"), SHOP))
SUM = Aggregate(window=Tumbling(size=HOUR), keys=("shop",), measures={"n": "count(*)"})


def spec(**given):
    usual = {"name": "p", "about": "p", "topic": TABLE, "watermark_delay": HOUR, "steps": (SUM,)}
    return Pipeline(**usual | given)


def test_the_types_of_an_output_are_known():
    types = {
        "n": "bigint",
        "shop": "string",
        "window_start": "timestamp",
        "window_end": "timestamp",
    }
    assert output_types(spec()) == types
    odd = Aggregate(window=Tumbling(size=HOUR), keys=("shop",), measures={"n": "sum(1) / 2"})
    assert output_types(spec(steps=(odd,)))["n"] == ""


@pytest.mark.parametrize(
    "made",
    [
        lambda: Table(event_time="at", fields=TABLE.fields),
        lambda: Table(of="a", path="/b", event_time="at", fields=TABLE.fields),
        lambda: Table(path="b", event_time="at", fields=TABLE.fields),
        lambda: Table(path="/b", event_time="at", fields=TABLE.fields, tombstones="dropped"),
        lambda: spec(topics=(TABLE, TABLE.model_copy(update={"name": "other"})), topic=None),
        lambda: spec(schedule=Schedule(when_data=WhenData())),
    ],
)
def test_what_a_table_is_not_is_refused(made):
    with pytest.raises(SpecInvalid):
        made()


def test_a_step_that_follows_a_key_is_refused_where_the_source_is_made(tmp_path):
    steps = (Latest(keys=("shop",), order_by=("at",)),)
    made = source_of(
        spec(steps=steps), Settings.from_environment(reads=False)._replace(root=str(tmp_path))
    )
    with fails(UpstreamUnfit, "unranged"):
        made.state()


def test_rows_without_state_that_a_drain_will_read_are_mended_behind_it(tmp_path, table):
    """A repair reads what took their place; the drain would write them beside it."""
    topic = TABLE.model_copy(update={"path": table.path, "event_time": "at"})
    made = source_of(
        spec(topic=topic, steps=(Transform(where="n > 0"),), watermark_delay=None),
        Settings.from_environment(reads=False)._replace(root=str(tmp_path)),
    )
    first = table.append(1)
    known = noted.begun(table.read, first)
    second = table.append(2)
    known = noted.followed(known, first, table.read, second)
    table.delta.update(updates={"n": "n + 1"}, predicate="n = 2")
    known = noted.followed(known, second, table.read, table.newest)
    made.rows_note.parent.mkdir(parents=True)
    known.put(made.rows_note, None)
    with fails(AccountBehind, "rows_wait"):
        made.slices({"t": table.newest}, Positions({0: 1}))
    assert made.slices({"t": table.newest}, Positions({0: 2})).num_rows == 2
    assert made.count({0: ((0, 2),)}) == 2
    (UPath(table.path) / known.files[1].path).unlink()
    assert (made.count({0: ((0, 2),)}), [*made.sampled({0: ((1, 2),)})]) == (1, [])
    assert made.taken({0: ((0, 2),)}) == {0: ((1, 2),)}
    made.rows_note.write_text("{")
    with fails(CheckpointBroken, "file_damaged"):
        made.state()


@pytest.mark.parametrize(
    ("pinned", "planned", "gone"), [(False, False, 0), (True, False, 0), (True, True, 2)]
)
def test_rows_that_a_killed_run_had_noted_and_not_planned_may_be_replaced_and_removed(
    tmp_path, table, pinned, planned, gone
):
    fields = TABLE.fields[:1]
    topic = TABLE.model_copy(update={"path": table.path, "event_time": "at", "fields": fields})
    steps = (Aggregate(window=Tumbling(size=HOUR), measures={"n": "count(*)"}),)
    of = spec(topic=topic, steps=steps)
    given = Settings.from_environment(reads=False)._replace(root=str(tmp_path))
    paths = Paths(given.root, of)
    begin(folder := paths.checkpoint, {0: 0}, topic="t")
    (folder / "inputs").mkdir()

    def pin(batch: int, version: int) -> None:
        pins = Pins(inputs={"t": Pin(table_id=str(table.delta.metadata().id), version=version)})
        (folder / "inputs" / str(batch)).write_text(pins.model_dump_json())

    first = table.append(1)
    source_of(of, given).keep({}, {"t": first}, None)
    pin(0, first)
    plan_batch(folder, 0, {0: 1}, topic="t")
    commit_batch(folder, 0)
    Cursor(audited=0).write(paths.cursor)
    second = table.append(2)
    source_of(of, given).keep({"t": first}, {"t": second}, None)
    if pinned:
        pin(1, second)
    if planned:
        plan_batch(folder, 1, {0: 2}, topic="t")
    [name] = [path for path, file in table.moves(-1).live.items() if table.rows(file) == [2]]
    table.delta.update(updates={"n": "n + 100"}, predicate="n = 2")
    (UPath(table.path) / name).unlink()
    third = table.append(3)
    made = source_of(of, given)
    state = made.state()
    assert (state.earliest, state.latest) == (
        Positions({0: gone}),
        Positions({0: 3 if gone else 2}),
    )
    made.keep({"t": second if pinned else first}, {"t": third}, None)
    read = [f for f in noted.read(made.rows_note).files if f.partition == noted.DRAINED]
    assert [table.rows(f) for f in read if (UPath(table.path) / f.path).exists()] == [[1], [3]]
    assert Positions({0: read[-1].stop}) == state.latest


def test_a_preview_reads_rows_that_no_run_has_noted_yet(tmp_path, table):
    fields = (TABLE.fields[0], Field(name="n", type="bigint"))
    topic = TABLE.model_copy(update={"path": table.path, "event_time": "at", "fields": fields})
    steps = (Aggregate(window=Tumbling(size=HOUR), measures={"n": "count(*)"}),)
    of = spec(topic=topic, steps=steps)
    given = Settings.from_environment(reads=False)._replace(root=str(tmp_path))
    first = table.append(1, 2)

    def seen() -> list[int]:
        return [json.loads(each.value or b"")["n"] for each in of_source(of, given, 3)]

    assert seen() == [1, 2]
    paths = Paths(given.root, of)
    begin(paths.checkpoint, {0: 0}, topic="t")
    source_of(of, given).keep({}, {"t": first}, None)
    plan_batch(paths.checkpoint, 0, {0: 2}, topic="t")
    table.append(3, 4)
    assert seen() == [2, 3, 4]


def test_pipelines_that_read_each_other_are_refused_by_name(tmp_path, monkeypatch):
    text = "from spark_jobs.spec import Table\nTable(of={!r}, event_time='at')\n"
    for name, of in (("one", "two"), ("two", "one")):
        (tmp_path / "circle" / name).mkdir(parents=True)
        (tmp_path / "circle" / name / "spec.py").write_text(text.format(of))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SLUICE_PIPELINES", "circle")
    with fails(SpecInvalid, "reads_itself"):
        registry.load("one")
