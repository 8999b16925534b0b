"""A table that follows a key, by delta-rs and without Spark: whatever comes in whatever batches, it
is what plain Python makes of all changes, and the account of each batch is the log's.
"""

import json
from collections import Counter
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import NamedTuple

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from hypothesis import given, settings, strategies as st
from upath import UPath

from spark_jobs.admin.care import forgotten_steps
from spark_jobs.admin.rebuild.compare import difference
from spark_jobs.audit.keyed_account import keyed
from spark_jobs.audit.written import written
from spark_jobs.errors import SpecInvalid
from spark_jobs.sink.keyed.follow import merge_here
from spark_jobs.spec import Field, Latest, Layout, Pipeline, Topic, Transform
from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.table import history
from spark_jobs.table.delta.opened import size
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit
from spark_jobs.values.own_columns import CONTENTS, DELETED, DELETED_AT, OFFSET, PARTITION
from tests.harness.long_form import examples
from tests.harness.refused import fails

STEP = Latest(keys=("id",), order_by=("lsn", "seq"), deletes="op = 'd'")
OWNER = "orders/1"
COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("lsn", pa.int64()),
        ("seq", pa.string()),
        ("status", pa.string()),
        (DELETED_AT, pa.timestamp("us", "UTC")),
        (PARTITION, pa.int32()),
        (OFFSET, pa.int64()),
        (CONTENTS, pa.int64()),
        (DELETED, pa.bool_()),
    ]
)


class Change(NamedTuple):
    """A record. `status` is None in a delete."""

    id: str
    lsn: int
    seq: str
    status: str | None
    offset: int = 0

    @property
    def position(self):
        return (self.lsn, self.seq, 0, self.offset)

    def is_copy_of(self, other):
        return self[:4] == other[:4]

    def row(self):
        return {
            "id": self.id, "lsn": self.lsn, "seq": self.seq, "status": self.status,
            DELETED_AT: 0 if self.status is None else None, PARTITION: 0, OFFSET: self.offset,
            CONTENTS: hash(self.status) % 1000 if self.status else 0,
            DELETED: self.status is None,
        }  # fmt: skip


class Model:
    """In plain Python: one change at a time, in the order of their positions within a batch."""

    def __init__(self):
        self.rows: dict[str, Change] = {}

    def take(self, batch):
        """What becomes of the changes, by their own definition."""
        found = Counter[str]()
        for key in sorted({change.id for change in batch}):
            of_key = sorted((c for c in batch if c.id == key), key=lambda c: c.position)
            last, before = of_key.pop(), self.rows.get(key)
            behind = before is not None and last.position <= before.position
            for change in of_key:
                copy = change.is_copy_of(before if behind else last)
                found["duplicates" if copy else "superseded"] += 1
            found[self.fate(last, before)] += 1
            found["behind"] += behind * (1 + len(of_key))
            if not behind:
                found["moved"] += before is not None and last.is_copy_of(before)
                self.rows[key] = last
        return Fates(**found)

    def fate(self, last, before):
        had = before is not None and before.status is not None
        if before is not None and last.is_copy_of(before):
            return "duplicates"
        if before is not None and last.position < before.position:
            return "superseded"
        if last.status is None:
            return "deleted" if had else "absent"
        return "updated" if had else "inserted"


def table_of(batch):
    """As the query gives it."""
    return pa.Table.from_pylist([change.row() for change in batch], COLUMNS)


def table_at(path, *parts):
    DeltaTable.create(str(path), Schema.from_arrow(COLUMNS), partition_by=[DELETED, *parts],
                      configuration={"delta.enableChangeDataFeed": "true"})  # fmt: skip
    return UPath(path)


def merge(path, batch, number, confirm=lambda: None):
    note = {"sluice": OWNER, "batch": number, "run": "run"}
    merge_here(table_of(batch), STEP, Commit(str(path), OWNER, number, note, path, 0, confirm))
    return written(Delta(path), [OWNER], number)[number]


def rows(path):
    return {row["id"]: row for row in DeltaTable(str(path)).to_pyarrow_table().to_pylist()}


@st.composite
def batches(draw):
    """Records in the order of their offsets, cut into batches; a batch may come again."""
    one = st.tuples(
        st.sampled_from("abc"), st.integers(1, 4), st.sampled_from("xy"),
        st.one_of(st.none(), st.sampled_from(["placed", "paid"])),
    )  # fmt: skip
    found = draw(st.lists(st.lists(one, min_size=1, max_size=6), min_size=1, max_size=5))
    offsets = iter(range(100))
    cut = [[Change(*change, next(offsets)) for change in batch] for batch in found]
    again = draw(st.lists(st.sampled_from(cut), max_size=1))
    return draw(st.permutations([*cut, *again]))


@given(given_batches=batches(), parts=st.sampled_from([(), ("lsn",)]))
@settings(max_examples=examples(20), deadline=None)
def test_the_table_and_each_account_are_those_of_plain_python(
    given_batches, parts, tmp_path_factory
):
    """Also where a row moves to another partition with each change."""
    path, model = table_at(tmp_path_factory.mktemp("latest") / "orders", *parts), Model()
    for number, batch in enumerate(given_batches):
        wanted = model.take(batch)
        done = merge(path, batch, number)
        assert done.fates == wanted
        log = keyed(path, done, STEP)
        assert (log.written, log.gained) == (wanted.written, wanted.gained)
        assert (log.changed or 0) <= wanted.updated + wanted.ended
    every = [change for batch in given_batches for change in batch]
    last = {
        change.id: change for change in sorted(every, key=lambda change: change.position)
    }  # whatever the batches
    assert {key: (row["status"], row[OFFSET]) for key, row in rows(path).items()} == {
        key: (change.status, change.offset) for key, change in last.items()
    }
    living = sum(change.status is not None for change in last.values())
    assert size(DeltaTable(str(path)), path)[:2] == (living, len(last) - living)


def test_a_batch_that_is_merged_twice_changes_nothing_and_is_told_once(tmp_path):
    path = table_at(tmp_path / "orders")
    batch = [Change("a", 1, "x", "placed", 0), Change("b", 1, "x", None, 1)]
    first = merge(path, batch, 0)
    assert (merge(path, batch, 0), DeltaTable(str(path)).version()) == (first, 1)


def test_a_batch_that_changes_no_row_tells_its_fates_too(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 2, "x", "paid", 5)], 0)
    done = merge(path, [Change("a", 1, "x", "placed", 1)], 1)
    assert done == (0, 2, Fates(superseded=1, behind=1))
    assert DeltaTable(str(path)).transaction_version(OWNER) == 1
    said = json.loads((path / "_delta_log" / f"{2:020d}.json").read_text().splitlines()[0])
    assert json.loads(said["commitInfo"]["userMetadata"])["fates"]["superseded"] == 1


def test_a_batch_without_changes_is_told_too(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 2, "x", "paid", 5)], 0)
    assert merge(path, [], 1) == (0, 2, Fates())


def test_whoever_lost_the_lease_between_reading_and_writing_writes_nothing(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 1, "x", "placed", 0)], 0)

    def meanwhile():
        if DeltaTable(str(path)).version() == 1:  # the next holder, once
            merge(path, [Change("a", 3, "x", "shipped", 9)], 1)

    merge(path, [Change("a", 2, "x", "paid", 5)], 1, meanwhile)
    assert (rows(path)["a"]["status"], DeltaTable(str(path)).version()) == ("shipped", 2)


def test_a_rebuild_compares_what_consumers_see_and_not_when_a_delete_came(tmp_path):
    live, side = (table_at(tmp_path / name) for name in ("live", "side"))
    merge(live, [Change("a", 1, "x", "placed", 0), Change("b", 1, "x", None, 1)], 0)
    merge(side, [Change("a", 1, "x", "placed", 7), Change("b", 1, "x", None, 9)], 0)
    assert difference(Delta(live), Delta(side), spec(LATEST), None).none
    merge(side, [Change("c", 1, "x", None, 10)], 1)  # which the other has forgotten
    found = difference(Delta(live), Delta(side), spec(LATEST), None)
    assert found.none
    assert [(day.before, day.after) for day in found.days] == [(1, 1)]
    merge(side, [Change("a", 2, "x", "paid", 11)], 2)
    assert not difference(Delta(live), Delta(side), spec(LATEST), None).none


def test_deletes_are_forgotten_when_they_are_old_enough_and_rows_are_not(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 1, "x", "placed", 0), Change("b", 1, "x", None, 1)], 0)  # of 1970
    paths = SimpleNamespace(table=path, kept_by=Layout.kept_by)
    assert [*forgotten_steps(paths, datetime(1970, 1, 1, tzinfo=UTC))] == []
    [(_, forget)] = forgotten_steps(paths, datetime(1971, 1, 1, tzinfo=UTC))
    forget(SimpleNamespace(confirm=lambda: None))
    assert rows(path).keys() == {"a"}
    assert not history.rows_changed(Delta(path), 1, DeltaTable(str(path)).version()), "no row went"


TOPIC = Topic(
    name="orders",
    event_time="at",
    fields=(
        Field(name="id", type="string"),
        Field(name="lsn", type="bigint"),
        Field(name="weight", type="double"),
        Field(name="at", type="timestamp"),
    ),
)


def spec(*steps, **changes):
    return Pipeline(name="orders_now", about="Orders.", topic=TOPIC, steps=steps, **changes)


LATEST = Latest(keys=("id",), order_by=("lsn",))


def test_the_steps_before_a_latest_are_those_of_records():
    made = spec(Transform(where="weight > 0"), LATEST)
    assert (made.keyed, made.keeps_state, made.entry) == (LATEST, False, None)
    assert made.before_state == (Transform(where="weight > 0"),)


@pytest.mark.parametrize(
    "make",
    [
        lambda: spec(LATEST, Transform(where="weight > 0")),
        lambda: spec(LATEST, output_mode="update"),
        lambda: spec(Latest(keys=("id",), order_by=("weight",))),
        lambda: spec(Latest(keys=("weight",), order_by=("lsn",))),
        lambda: spec(Latest(keys=("nobody",), order_by=("lsn",))),
        lambda: spec(Latest(keys=("id",), order_by=("id",))),
        lambda: spec(Latest(keys=("id",), order_by=("lsn",), forget_deletes_after="0 days")),
    ],
    ids=["not last", "mode", "order of a double", "key of a double", "unknown", "both", "at once"],
)
def test_what_a_latest_cannot_be_is_refused_when_the_spec_is_loaded(make):
    with fails(SpecInvalid, "fields_refused"):
        make()
