"""The chains of a History: one of each key, without gap or overlap, in whatever order its changes
come.
"""

from collections.abc import Iterable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from hypothesis import given, settings, strategies as st
from upath import UPath

from spark_jobs.audit.keyed_account import keyed
from spark_jobs.audit.written import Written, written
from spark_jobs.sink.keyed.follow import merge_here
from spark_jobs.spec import History
from spark_jobs.spec.steps.history import SPAN
from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.steps.keyed.merge import Merged, merged
from spark_jobs.steps.keyed.places import misplaced
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit, Note
from spark_jobs.values.own_columns import CONTENTS, DELETED, OFFSET, PARTITION, PLACE, WHOLE
from tests.harness.long_form import examples
from tests.unit.followed import START, VERSIONS, Record as Change

STEP = History(keys=("id", "shop"), order_by=("lsn",), valid_from="made")
STATUSES = (None, "paid", "sent")
CHANGES = pa.schema(
    [
        ("id", pa.string()),
        ("shop", pa.int64()),
        ("lsn", pa.int64()),
        ("made", pa.timestamp("us", "UTC")),
        ("status", pa.string()),
        (DELETED, pa.bool_()),
        (PARTITION, pa.int32()),
        (OFFSET, pa.int64()),
        (CONTENTS, pa.int64()),
    ]
)
TABLE = pa.schema(
    [
        *CHANGES,
        ("valid_from", CHANGES.field("made").type),
        ("valid_to", CHANGES.field("made").type),
        ("current", pa.bool_()),
    ]
)
Row = dict[str, Any]


def rows(changes: Iterable[tuple[int, Change]]) -> list[Row]:
    """Each is a record at its own offset, in one of two partitions."""
    return [
        {
            "id": change.id,
            "shop": change.shop,
            "lsn": change.lsn,
            "made": START + timedelta(minutes=change.minute),
            "status": change.status,
            DELETED: change.status is None,
            PARTITION: offset % 2,
            OFFSET: offset // 2,
            CONTENTS: 10 * change.minute + STATUSES.index(change.status),
        }
        for offset, change in changes
    ]


class Table:
    """A table in memory, merged as Delta merges: by keys and order."""

    def __init__(self) -> None:
        self.rows: dict[tuple[Any, ...], Row] = {}

    def put(self, batch: list[Row]) -> Merged:
        keys = {(row["id"], row["shop"]) for row in batch}
        of_keys = [row for place, row in self.rows.items() if place[:2] in keys]
        made = merged(
            pa.Table.from_pylist(of_keys, TABLE), pa.Table.from_pylist(batch, CHANGES), STEP
        )
        before, known, live = len(self.rows), 0, self.live()
        for row in made.rows.to_pylist():
            place = tuple(row[column] for column in ("id", "shop", "lsn"))
            known += place in self.rows
            if made.newest_only and place in self.rows:
                assert self.rows[place]["current"] or self.rows[place][DELETED]
            whole = row.pop(WHOLE)
            self.rows[place] = (
                row if whole else self.rows[place] | {name: row[name] for name in (*PLACE, *SPAN)}
            )
        assert made.fates.written == made.rows.num_rows == len(self.rows) - before + known
        assert made.fates.gained == self.live() - live
        assert made.fates.all == len(batch)
        return made

    def live(self) -> int:
        return sum(not row[DELETED] for row in self.rows.values())

    def sorted(self) -> list[Row]:
        return [self.rows[place] for place in sorted(self.rows)]


def by_duckdb(changes: list[Row]) -> list[Row]:
    """The whole history, from all changes at once."""
    if not changes:
        return []
    given = pa.Table.from_pylist(changes, CHANGES)
    found = duckdb.connect().sql(VERSIONS)
    assert given.num_rows
    return found.to_arrow_table().cast(TABLE).to_pylist()


changes = st.builds(
    Change,
    st.sampled_from("ab"),
    st.integers(0, 1),
    st.integers(0, 8),
    st.integers(0, 5),
    st.sampled_from([None, "paid", "sent"]),
)


@st.composite
def deliveries(draw: st.DrawFn) -> list[list[Row]]:
    """Batches of changes in any order, some of which come again."""
    all_ = rows(enumerate(draw(st.lists(changes, max_size=24))))
    again = draw(st.lists(st.sampled_from(all_), max_size=6)) if all_ else []
    order = draw(st.permutations([*all_, *again]))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=4)))
    return [order[a:b] for a, b in pairwise([0, *cuts, len(order)])]


@settings(max_examples=examples(60))
@given(deliveries())
def test_a_table_is_that_of_all_changes_at_once_however_they_came(batches):
    table = Table()
    for batch in batches:
        table.put(batch)
    assert table.sorted() == by_duckdb([row for batch in batches for row in batch])


@settings(max_examples=examples(40))
@given(deliveries())
def test_a_chain_has_neither_gap_nor_overlap_and_one_current_row_if_the_key_lives(batches):
    table = Table()
    for batch in batches:
        table.put(batch)
    chains: dict[tuple[Any, ...], list[Row]] = {}
    for row in table.sorted():
        chains.setdefault((row["id"], row["shop"]), []).append(row)
    for versions in chains.values():
        for version, next_ in pairwise(versions):
            assert version["valid_from"] <= version["valid_to"] == next_["valid_from"]
            assert not version["current"]
        assert versions[-1]["valid_to"] is None
        assert versions[-1]["current"] is not versions[-1][DELETED]


@settings(max_examples=examples(40))
@given(deliveries())
def test_a_batch_that_comes_again_changes_nothing(batches):
    table = Table()
    for batch in batches:
        table.put(batch)
        before = table.sorted()
        again = table.put(batch)
        assert table.sorted() == before
        assert again.rows.num_rows == 0


OWNER = "orders/1"


def delta_table(path: Path) -> UPath:
    DeltaTable.create(str(path), Schema.from_arrow(TABLE), partition_by=[DELETED, "current"],
                      configuration={"delta.enableChangeDataFeed": "true"})  # fmt: skip
    return UPath(path)


def put(path: UPath, batch: list[Row], number: int) -> Written:
    note: Note = {"sluice": OWNER, "batch": number, "run": "run"}
    commit = Commit(SparkPath(str(path)), OWNER, number, note, path)
    merge_here(pa.Table.from_pylist(batch, CHANGES), STEP, commit)
    return written(Delta(path), [OWNER], number)[number]


def of_delta(path: UPath) -> list[Row]:
    found = DeltaTable(str(path)).to_pyarrow_table().select(TABLE.names)
    order = [(name, "ascending") for name in STEP.row_key]
    ordered: list[Row] = found.sort_by(order).cast(TABLE).to_pylist()
    return ordered


@settings(max_examples=examples(12), deadline=None)
@given(batches=deliveries())
def test_a_delta_table_is_that_too_and_its_log_agrees_with_each_account(batches, tmp_path_factory):
    path = delta_table(tmp_path_factory.mktemp("history") / "orders")
    for number, batch in enumerate(filter(None, batches)):
        done = put(path, batch, number)
        log = keyed(path, done, STEP)
        assert (log.written, log.gained) == (done.fates.written, done.fates.gained)
        assert (log.changed or 0) <= done.fates.updated + done.fates.ended
        assert done.fates.all == len(batch)
        assert put(path, batch, number) == done, "one that comes again is there already"
    assert of_delta(path) == by_duckdb([row for batch in batches for row in batch])


def test_what_has_ended_is_not_written_again_for_newer_changes(tmp_path):
    path = delta_table(tmp_path / "orders")
    put(path, rows(enumerate([FIRST, SECOND])), 0)
    before = {uri for uri in DeltaTable(str(path)).file_uris() if "current=false" in uri}
    put(path, rows([(2, THIRD)]), 1)
    after = {uri for uri in DeltaTable(str(path)).file_uris() if "current=false" in uri}
    assert before
    assert before < after


FIRST, SECOND, THIRD = (Change("a", 0, lsn, lsn, "paid") for lsn in (1, 2, 3))


@pytest.mark.parametrize(
    ("before", "batch", "fates"),
    [
        ([], [FIRST], Fates(inserted=1)),
        ([], [FIRST._replace(status=None)], Fates(deleted=1, ending=1)),
        ([FIRST], [SECOND], Fates(inserted=1, ended=1)),
        ([FIRST], [SECOND._replace(status=None)], Fates(deleted=1, ending=1, ended=1)),
        ([FIRST, THIRD], [SECOND], Fates(inserted=1, ended=1)),
        ([SECOND], [FIRST], Fates(inserted=1)),
        ([FIRST, THIRD], [SECOND._replace(minute=9)], Fates(inserted=1, ended=2)),
        ([FIRST, SECOND], [Change("b", 0, 1, 1, "paid")], Fates(inserted=1)),
        ([FIRST], [FIRST._replace(status="sent")], Fates(updated=1)),
        ([FIRST], [FIRST._replace(status=None)], Fates(deleted=1)),
        ([FIRST._replace(status=None)], [FIRST], Fates(inserted=1)),
        ([FIRST._replace(status=None)], [FIRST._replace(status=None, minute=2)], Fates(absent=1)),
        ([], [FIRST, FIRST._replace(status="sent")], Fates(inserted=1, superseded=1)),
        ([], [FIRST, FIRST], Fates(inserted=1, duplicates=1)),
        ([FIRST], [FIRST], Fates(duplicates=1, moved=1)),
    ],
    ids=[
        "a first version",
        "a delete of a key that has no row",
        "a next version ends the last one",
        "a delete does too",
        "a late one ends the one before it",
        "a late one before all is ended by the first",
        "a time behind the next ones moves their begin",
        "another key's chain stays as it is",
        "an equal order at a later offset takes the place",
        "so does a delete",
        "and a row that of a delete",
        "and a delete of another time",
        "of two equal orders the later offset stays",
        "of two that are the same one is a duplicate",
        "so is one that the table has, and its place in Kafka is the later one",
    ],
)
def test_each_change_has_one_fate(before, batch, fates):
    table = Table()
    table.put(rows(enumerate(before)))
    assert table.put(rows(enumerate(batch, len(before)))).fates == fates


def test_the_same_record_again_is_a_duplicate_and_writes_nothing():
    table, batch = Table(), rows([(5, FIRST)])
    table.put(batch)
    again = table.put([*batch, *batch])
    assert (again.fates, again.rows.num_rows) == (Fates(duplicates=2, behind=2), 0)


def test_only_a_late_change_writes_what_has_ended():
    table = Table()
    table.put(rows(enumerate([FIRST, SECOND, Change("b", 0, 7, 7, "paid")])))
    assert table.put(rows([(3, THIRD)])).newest_only
    assert not table.put(rows([(5, SECOND._replace(status="sent"))])).newest_only


def test_a_version_without_a_time_has_no_place_in_a_chain():
    there = pa.Table.from_pylist(rows([(0, FIRST)]), TABLE)
    somebodys = there.set_column(3, "made", pa.nulls(1, TABLE.field("made").type))
    assert misplaced(somebodys, STEP) == {"id": "a", "shop": 0}
