"""What a reader of a table's rows finds in its log: real tables of delta-rs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.errors import SpecInvalid, UpstreamUnfit
from spark_jobs.settings.installation import Settings
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Aggregate, Field, Latest, Pipeline, Schedule, Table, Tumbling, WhenData
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.upstream import noted
from spark_jobs.upstream.file_rows import NO_JSON, as_json, rows_of
from spark_jobs.upstream.log_place import identity_of
from spark_jobs.upstream.moves import live_files, moves
from spark_jobs.upstream.output import output_types
from tests.harness.refused import fails

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
        log = Log.of(UPath(self.path))
        return noted.Table("t", "at", UPath(self.path), log, identity_of("t", log))

    def moves(self, since: int):
        return moves("t", self.read.log, since, self.newest, "at")

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
        live_files("t", table.read.log, version, "at")


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
