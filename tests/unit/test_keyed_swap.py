"""Staged rows into a table that follows a key, and back, by delta-rs: what drains bring meanwhile
stays, and what they leave out is not lost.
"""

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.errors import RepairOverlapped, StagingStale
from spark_jobs.ops import repairs
from spark_jobs.repair.manifest import MergedRecord
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.sink.keyed.follow import merge_here
from spark_jobs.spec.analysis.ranged import BY_KEY
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit
from spark_jobs.values.spans import EVER
from tests.harness import roots
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.unit.checkpoints import begin
from tests.unit.repaired import write
from tests.unit.test_latest import COLUMNS, LATEST, Change, spec, table_at, table_of

SPEC = spec(LATEST)


class Root(roots.Root):
    """Drains merge changes, and a replay brings others."""

    def __init__(self, folder) -> None:
        super().__init__(folder, SPEC)
        self.paths.ensure_writable()
        begin(self.paths.checkpoint, {0: 0}, "orders")
        table_at(self.paths.table)
        self.identified("g1", table_id=Delta(self.paths.table).identifier())
        Cursor(judged_table_version=0).write(self.paths.cursor)
        self.batch = -1

    def drain(self, *changes) -> None:
        self.batch += 1
        owner, path = self.identity.owner(SPEC.name), self.paths.table
        note = {"sluice": owner, "batch": self.batch, "run": "run"}
        merge_here(table_of(changes), LATEST, Commit(str(path), owner, self.batch, note, path))

    def stage(self, repair_id, *changes) -> None:
        """What the stage of a replay of these leaves: the rows that win."""
        there = {
            row["id"]: row
            for row in deltalake.DeltaTable(str(self.paths.table)).to_pyarrow_table().to_pylist()
        }
        pairs = [(there.get(change.id), change.row()) for change in changes]
        struct = pa.struct(list(COLUMNS))
        rows = {
            "op": ["changed" if before else "added" for before, _ in pairs],
            "before": pa.array([before for before, _ in pairs], struct),
            "after": pa.array([after for _, after in pairs], struct),
            "explained": [True] * len(pairs),
        }
        folder = self.paths.staging(repair_id)
        folder.mkdir(parents=True)
        write(folder / "changes", pa.table(rows))
        merged = [
            MergedRecord(
                topic_id="t", partition=0, offset=change.offset, source="quarantine", fate="merged"
            )
            for change in changes
        ]
        of_table = {"table_id": Delta(self.paths.table).identifier(), "table_version": self.version}
        roots.manifest(
            SPEC.name, repair_id=repair_id, kind="replay", spans=EVER, differing=EVER,
            position=BY_KEY, merged=tuple(merged), **of_table,
        ).write(folder / "manifest.json")  # fmt: skip

    def swap(self, repair_id):
        return swap(SPEC, self.settings.root, repair_id, "swap")

    def undo(self, repair_id):
        return undo(SPEC, self.settings.root, repair_id, "undo")

    def rows(self):
        found = deltalake.DeltaTable(str(self.paths.table)).to_pyarrow_table().to_pylist()
        return {row["id"]: (row["lsn"], row["status"]) for row in found}


@pytest.fixture
def root(tmp_path):
    made = Root(tmp_path / ROOT)
    made.drain(
        Change("a", 1, "x", "placed", 0),
        Change("b", 1, "x", "placed", 1),
        Change("c", 9, "x", "paid", 2),
    )
    made.stage(
        "r1",
        Change("a", 5, "x", "paid", 3),
        Change("b", 5, "x", None, 4),
        Change("d", 5, "x", "new", 5),
    )
    return made  # fmt: skip


def test_a_swap_and_its_undo_leave_alone_what_drains_bring(root):
    root.drain(Change("b", 6, "x", "again", 6), Change("c", 10, "x", None, 7))
    done = root.swap("r1")
    assert (done.state, done.table_version, done.merged) == ("swapped", root.version, 3)
    assert root.rows() == {"a": (5, "paid"), "b": (6, "again"), "c": (10, None), "d": (5, "new")}
    assert root.swap("r1").table_version == done.table_version
    root.drain(Change("a", 7, "x", "sent", 8))
    root.undo("r1")
    assert root.rows() == {"a": (7, "sent"), "b": (6, "again"), "c": (10, None)}
    assert root.told("merged") == []
    assert repairs.one(root.paths.root, SPEC.name, "r1")["state"] == "undone"


def test_a_swap_of_which_nothing_is_newest_any_more_is_in_the_table_all_the_same(root):
    root.drain(*(Change(key, 8, "x", "sent", 10) for key in "abd"))
    before = root.rows()
    assert root.swap("r1").state == "swapped"
    assert root.rows() == before
    root.undo("r1")
    assert root.rows() == before


def test_an_undo_waits_for_nobody_but_is_refused_where_a_change_was_left_out(root):
    root.swap("r1")
    root.drain(Change("a", 4, "x", "late", 9))
    with fails(StagingStale, "changes_left_out", changes=1):
        root.undo("r1")
    assert root.rows()["a"] == (5, "paid")


def test_a_row_that_moved_on_below_what_comes_is_staged_again(root):
    root.drain(Change("a", 3, "x", "between", 9))
    with fails(StagingStale, "places_changed", places=1):
        root.swap("r1")


def test_a_repair_is_not_undone_beneath_a_later_one(root):
    root.swap("r1")
    root.stage("r2", Change("a", 6, "x", "twice", 11))
    root.swap("r2")
    with fails(RepairOverlapped, "later_repair"):
        root.undo("r1")
    root.undo("r2")
    root.undo("r1")
    assert root.rows() == {"a": (1, "placed"), "b": (1, "placed"), "c": (9, "paid")}
