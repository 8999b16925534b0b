"""Versions of rows from changes that lack some columns: each has what plain Python makes of all changes
up to it, in whatever order and batches they come, and the account of each batch is the log's.
"""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema
from hypothesis import given, settings, strategies as st
from upath import UPath

from spark_jobs.audit.keyed_account import keyed
from spark_jobs.audit.written import written
from spark_jobs.sink.keyed.follow import merge_here
from spark_jobs.spec import History
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit
from spark_jobs.values.own_columns import CONTENTS, DELETED, DELETED_AT, OFFSET, PARTITION, SET
from tests.harness.long_form import examples
from tests.harness.turns import alike
from tests.unit import test_fold as partial
from tests.unit.test_fold import GONE, OWNER

LACKS = {"note": f"note = '{GONE}'", "weight": "weight IS NULL"}
STEP = History(keys=("id",), order_by=("lsn",), valid_from="at", deletes="gone", missing=LACKS)
START = datetime(2026, 1, 1, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")
POSITION = [("lsn", pa.int64()), (OFFSET, pa.int64()), (PARTITION, pa.int32())]
PAYLOAD = ("status", "note", "weight")
CHANGES = pa.schema(
    [
        ("id", pa.string()),
        ("lsn", pa.int64()),
        ("at", TIME),
        ("status", pa.string()),
        ("note", pa.string()),
        ("weight", pa.int32()),
        (DELETED_AT, TIME),
        (PARTITION, pa.int32()),
        (OFFSET, pa.int64()),
        (CONTENTS, pa.int64()),
        (SET, pa.map_(pa.string(), pa.struct(POSITION))),
        (DELETED, pa.bool_()),
    ]
)
TABLE = pa.schema([*CHANGES, ("valid_from", TIME), ("valid_to", TIME), ("current", pa.bool_())])


class Change(partial.Change):
    """As of a Latest, with a time of its own; `status` is always sent."""

    def row(self):
        at = {"lsn": self.lsn, OFFSET: self.offset, PARTITION: 0}
        lacks = {"note": GONE, "weight": None}
        return {
            "id": self.id,
            **at,
            "at": START + timedelta(minutes=self.lsn),
            **({} if self.said is None else lacks | self.said),
            DELETED_AT: START if self.said is None else None,
            CONTENTS: 0 if self.said is None else hash(str(sorted(self.said.items()))) % 10**9,
            SET: None if self.said is None else [(name, at) for name in self.said],
            DELETED: self.said is None,
        }


def wanted(changes):
    """(key, lsn) -> what the version has: one change at a time; of one lsn the last one is left."""
    found, rows = {}, {}
    for change in sorted(changes, key=lambda change: (change.id, change.position)):
        row = rows.get(change.id) or dict.fromkeys(PAYLOAD)
        rows[change.id] = None if change.said is None else row | change.said
        found[change.id, change.lsn] = rows[change.id] and [*rows[change.id].values()]
    return {place: row for place, row in found.items() if row is not None}


def table_at(path):
    DeltaTable.create(str(path), Schema.from_arrow(TABLE), partition_by=[DELETED, "current"],
                      configuration={"delta.enableChangeDataFeed": "true"})  # fmt: skip
    return UPath(path)


def table_of(batch):
    return pa.Table.from_pylist([change.row() for change in batch], CHANGES)


def put(path, batch, number):
    note = {"sluice": OWNER, "batch": number, "run": "run"}
    merge_here(table_of(batch), STEP, Commit(SparkPath(str(path)), OWNER, number, note, path))
    done = written(Delta(path), [OWNER], number)[number]
    log = keyed(path, done, STEP)
    assert done.fates.all == len(batch)
    assert (log.written, log.gained) == (done.fates.written, done.fates.gained)
    assert (log.changed or 0) <= done.fates.updated + done.fates.ended
    return done.fates


def versions(path):
    rows = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    assert len({(row["id"], row["lsn"]) for row in rows}) == len(rows)
    found = {(r["id"], r["lsn"]): [r[name] for name in PAYLOAD] for r in rows if not r[DELETED]}
    return dict(sorted(found.items()))


@st.composite
def batches(draw):
    """Records in any order, cut anywhere; some come again, in a batch or as copies behind."""
    note, weight = st.sampled_from([None, "x", "y"]), st.sampled_from([None, 1, 2])
    status = {"status": st.sampled_from([None, "placed", "paid"])}
    said = st.fixed_dictionaries(status, optional={"note": note, "weight": weight.filter(bool)})
    one = st.tuples(
        st.sampled_from("ab"), st.integers(1, 6), st.one_of(st.none(), said, said, said)
    )
    found = draw(st.lists(one, min_size=1, max_size=14))
    copies = draw(st.lists(st.sampled_from(found), max_size=3))
    every = [Change(*each, offset) for offset, each in enumerate([*found, *copies])]
    changes = draw(st.permutations(every))
    ends = sorted(draw(st.sets(st.integers(1, len(changes)), max_size=4)) | {len(changes)})
    cut = [changes[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return [*cut, *draw(st.lists(st.sampled_from(cut), max_size=1))]


@alike("whatever comes in whatever order")
@given(given_batches=batches())
@settings(max_examples=examples(60), deadline=None)
def test_each_version_is_that_of_plain_python_in_any_order_and_batches(
    given_batches, tmp_path_factory
):
    path, seen = table_at(tmp_path_factory.mktemp("partial") / "orders"), []
    for number, batch in enumerate(given_batches):
        put(path, batch, number)
        seen += batch
        assert versions(path) == wanted(seen)
    assert not put(path, batch, number + 1).written


def test_a_late_change_gives_its_value_to_the_versions_behind_it_that_lack_one(tmp_path):
    path = table_at(tmp_path / "orders")
    put(path, [Change("a", 1, {"status": "new", "note": "long", "weight": 3}, 0),
               Change("a", 5, {"status": None}, 1), Change("a", 7, {"status": "x", "note": None}, 2)], 0)  # fmt: skip
    assert versions(path) == {
        ("a", 1): ["new", "long", 3],
        ("a", 5): [None, "long", 3],
        ("a", 7): ["x", None, 3],
    }
    put(path, [Change("a", 3, {"status": "late", "note": "longer"}, 3)], 1)
    assert versions(path)["a", 5] == [None, "longer", 3]
    assert versions(path)["a", 7] == ["x", None, 3]
    put(path, [Change("a", 4, None, 4)], 2)
    assert versions(path)["a", 5] == [None, None, None]


def test_what_a_person_has_put_right_stays_and_is_what_a_later_change_keeps(tmp_path):
    path = table_at(tmp_path / "orders")
    put(
        path,
        [Change("a", 1, {"status": "new", "note": "long"}, 0), Change("a", 2, {"status": "x"}, 1)],
        0,
    )
    DeltaTable(str(path)).update({"note": "'mended'"}, predicate="lsn = 1")
    DeltaTable(str(path)).update({"note": "'mine'"}, predicate="lsn = 2")
    put(
        path,
        [Change("a", 1, {"status": "new", "note": "long"}, 2), Change("a", 3, {"status": "y"}, 3)],
        1,
    )
    assert versions(path) == {
        ("a", 1): ["new", "mended", None],
        ("a", 2): ["x", "mine", None],
        ("a", 3): ["y", "mended", None],
    }


def test_a_batch_without_a_change_changes_nothing(tmp_path):
    path = table_at(tmp_path / "orders")
    put(path, [Change("a", 1, {"status": "new"}, 0)], 0)
    before = versions(path)
    put(path, [], 1)
    assert versions(path) == before


def test_a_copy_of_a_version_that_a_late_change_gives_a_value_is_accounted_for(tmp_path):
    path = table_at(tmp_path / "orders")
    later = Change("a", 3, {"status": "paid"}, 1)
    put(path, [later], 0)
    put(path, [Change("a", 2, {"note": "late"}, 2), later._replace(offset=3)], 1)
    assert versions(path)["a", 3] == ["paid", "late", None]


@pytest.mark.parametrize("late", [3, 5])
def test_a_version_that_gets_a_place_from_a_copy_and_a_value_from_another_change_is_accounted(
    tmp_path, late
):
    path = table_at(tmp_path / "orders")
    put(path, [Change("a", 5, {"status": "paid"}, 1), Change("b", 1, {"status": "x"}, 2)], 0)
    copies = [Change("a", 5, {"status": "paid"}, 9), Change("b", 1, {"status": "x"}, 8)]
    fates = put(path, [*copies, Change("a", late, {"status": "late", "weight": 9}, 7)], 1)
    assert versions(path)["a", 5] == ["paid", None, 9]
    assert (fates.duplicates, fates.moved, fates.ended) == (2, 1, 1)


def test_a_copy_that_another_change_at_its_place_overtakes_does_not_undo_a_persons_correction(
    tmp_path,
):
    path = table_at(tmp_path / "orders")
    first = Change("a", 5, {"status": "new", "note": "long"}, 0)
    put(path, [first, Change("a", 6, {"status": "x"}, 1)], 0)
    DeltaTable(str(path)).update({"note": "'mine'"})
    put(path, [first._replace(offset=2), Change("a", 5, {"status": "paid"}, 3)], 1)
    assert versions(path) == {("a", 5): ["paid", "mine", None], ("a", 6): ["x", "mine", None]}
