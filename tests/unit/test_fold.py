"""Partial changes: in any order and in any batches the row of a key is that of plain Python, and the
account of each batch is the log's. A null that a change says is a value; what it does not send is kept.
"""

from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, Schema
from hypothesis import given, settings, strategies as st
from upath import UPath

from spark_jobs.audit.keyed_account import keyed
from spark_jobs.audit.written import written
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.sink.keyed.follow import merge_here
from spark_jobs.spec import Latest
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit
from spark_jobs.values.own_columns import (
    CONTENTS,
    DELETED,
    DELETED_AT,
    OFFSET,
    PARTITION,
    SET,
    SET_CONTENTS,
)
from tests.harness.long_form import examples
from tests.harness.turns import alike
from tests.unit.test_latest import LATEST, spec

STEP = Latest(keys=("id",), order_by=("lsn",), deletes="op = 'd'", missing="keep")
OWNER = "orders/1"
POSITION = [("lsn", pa.int64()), (OFFSET, pa.int64()), (PARTITION, pa.int32())]
COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("lsn", pa.int64()),
        ("status", pa.string()),
        ("note", pa.string()),
        ("weight", pa.int32()),
        (DELETED_AT, pa.timestamp("us", "UTC")),
        (PARTITION, pa.int32()),
        (OFFSET, pa.int64()),
        (CONTENTS, pa.int64()),
        (SET, pa.map_(pa.string(), pa.struct(POSITION))),
        (SET_CONTENTS, pa.map_(pa.string(), pa.int64())),
        (DELETED, pa.bool_()),
    ]
)
PAYLOAD = ("status", "note", "weight")
GONE = "__debezium_unavailable_value"


class Change(NamedTuple):
    """A record: the columns that it sends, of which any may be null; None deletes the row."""

    id: str
    lsn: int
    said: dict[str, str | int | None] | None
    offset: int

    @property
    def position(self):
        return (self.lsn, self.offset)

    def row(self):
        at = {"lsn": self.lsn, OFFSET: self.offset, PARTITION: 0}
        return {
            "id": self.id,
            **at,
            **(
                {"status": GONE, "note": GONE, "weight": None} | self.said
                if self.said is not None
                else {}
            ),
            DELETED_AT: 0 if self.said is None else None,
            CONTENTS: hash(str(self.said)) % 10**9 if self.said is not None else 0,
            SET: None if self.said is None else [(name, at) for name in self.said],
            SET_CONTENTS: None,
            DELETED: self.said is None,
        }


def wanted(changes):
    """Key -> what its row has, None if it is deleted: one change at a time, in their own order."""
    found = dict[str, dict | None]()
    for change in sorted(changes, key=lambda change: change.position):
        row = found.get(change.id) or dict.fromkeys(PAYLOAD)
        found[change.id] = None if change.said is None else row | change.said
    return {key: row and [*row.values()] for key, row in found.items()}


def table_at(path):
    DeltaTable.create(str(path), Schema.from_arrow(COLUMNS), partition_by=[DELETED],
                      configuration={"delta.enableChangeDataFeed": "true"})  # fmt: skip
    return UPath(path)


def table_of(batch):
    return pa.Table.from_pylist([change.row() for change in batch], COLUMNS)


def merge(path, batch, number):
    note = {"sluice": OWNER, "batch": number, "run": "run"}
    merge_here(table_of(batch), STEP, Commit(str(path), OWNER, number, note, path))
    return written(Delta(path), [OWNER], number)[number]


def rows(path):
    found = DeltaTable(str(path)).to_pyarrow_table().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: None if row[DELETED] else [row[name] for name in PAYLOAD] for row in found}


@st.composite
def batches(draw):
    """Records in any order, cut anywhere; some batch may come again."""
    said = st.fixed_dictionaries(
        {},
        optional={
            "status": st.sampled_from([None, "placed", "paid"]),
            "note": st.sampled_from([None, "x", "y"]),
            "weight": st.sampled_from([None, 1, 2]),
        },
    )
    one = st.tuples(
        st.sampled_from("ab"), st.integers(1, 6), st.one_of(st.none(), said, said, said)
    )
    found = draw(st.lists(one, min_size=1, max_size=14))
    changes = draw(st.permutations([Change(*each, offset) for offset, each in enumerate(found)]))
    ends = sorted(draw(st.sets(st.integers(1, len(changes)), max_size=4)) | {len(changes)})
    cut = [changes[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return [*cut, *draw(st.lists(st.sampled_from(cut), max_size=1))]


@alike("whatever comes in whatever order")
@given(given_batches=batches())
@settings(max_examples=examples(60), deadline=None)
def test_the_rows_are_those_of_plain_python_in_any_order_and_batches(
    given_batches, tmp_path_factory
):
    path = table_at(tmp_path_factory.mktemp("partial") / "orders")
    seen = []
    for number, batch in enumerate(given_batches):
        before = len([row for row in rows(path).values() if row is not None])
        done = merge(path, batch, number)
        seen += batch
        assert rows(path) == wanted(seen)
        living = len([row for row in rows(path).values() if row is not None])
        log = keyed(path, done, STEP)
        assert done.fates.all == len(batch)
        assert (log.written, log.gained) == (done.fates.written, done.fates.gained)
        assert (log.changed or 0) <= done.fates.updated + done.fates.ended
        assert done.fates.gained == living - before


def test_an_older_change_fills_only_what_no_newer_one_said(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 5, {"status": "paid", "weight": 2}, 0)], 0)
    done = merge(path, [Change("a", 3, {"status": "placed", "note": "gift"}, 1)], 1)
    assert rows(path) == {"a": ["paid", "gift", 2]}
    assert (done.fates.updated, done.fates.superseded) == (1, 0)
    done = merge(path, [Change("a", 4, None, 2)], 2)  # between both
    assert rows(path) == {"a": ["paid", None, 2]}
    done = merge(path, [Change("a", 2, {"status": "new", "note": "late", "weight": 9}, 3)], 3)
    assert rows(path) == {"a": ["paid", None, 2]}
    assert done.fates.superseded == 1


def test_a_copy_does_not_undo_a_persons_correction(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(
        path,
        [Change("a", 1, {"note": "gift"}, 0), Change("a", 2, {"status": "paid", "weight": 2}, 1)],
        0,
    )
    DeltaTable(str(path)).update({"status": "'mended'", "note": "'mine'"})
    done = merge(path, [Change("a", 2, {"status": "paid", "weight": 2}, 5)], 1)
    assert rows(path) == {"a": ["mended", "mine", 2]}
    assert (done.fates.duplicates, done.fates.moved, done.fates.updated) == (1, 1, 0)
    merge(path, [Change("a", 2, {"status": "sent"}, 3)], 2)  # of before the copy
    assert rows(path) == {"a": ["mended", "mine", 2]}


def test_a_null_that_is_said_is_a_value_beside_a_column_that_is_not_sent(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 1, {"status": "new", "note": "long", "weight": 3}, 0)], 0)
    merge(path, [Change("a", 2, {"status": None, "weight": 3}, 1)], 1)
    assert rows(path) == {"a": [None, "long", 3]}
    merge(path, [Change("a", 3, {"status": "paid", "note": None, "weight": 3}, 2)], 2)
    assert rows(path) == {"a": ["paid", None, 3]}


def test_a_delete_forgets_what_was_said_before_it(tmp_path):
    path = table_at(tmp_path / "orders")
    merge(
        path,
        [
            Change("a", 1, {"status": "paid", "note": "gift", "weight": 2}, 0),
            Change("a", 2, None, 1),
        ],
        0,
    )
    assert rows(path) == {"a": None}
    done = merge(path, [Change("a", 3, {"note": "back"}, 2)], 1)
    assert (rows(path), done.fates.inserted) == ({"a": [None, "back", None]}, 1)


def test_a_table_of_whole_changes_is_not_gone_on_with_as_one_of_partial_changes():
    whole, partial = (spec(LATEST.model_copy(update={"missing": of})) for of in ("null", "keep"))
    assert "steps[0].missing" not in fingerprint(whole, "4.2.0")
    assert fingerprint(partial, "4.2.0")["steps[0].missing"] == "keep"
