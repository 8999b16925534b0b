"""Rows that no verdict is about: whoever brings them into the table, or back, publish shows and tells
nothing of them before a run has judged them.
"""

import shutil
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.runs.publish.publication import to_publish
from spark_jobs.table.delta.answer import answer
from tests.harness.listener import Listener
from tests.harness.roots import ROOT
from tests.unit.repaired import SPEC, Root, row

BAD = 13
"""The sales of a row that fails the check."""


class Told:
    """A root whose batches 0 to 4 have passed and were published."""

    def __init__(self, folder: Path) -> None:
        self.root = Root(folder)
        self.root.drain(0, 4)
        self.listener = Listener()
        self.listener.publish(self.root.paths, SPEC)

    def shown(self) -> list[int]:
        """The sales that consumers read."""
        read = deltalake.DeltaTable(str(self.root.paths.published_table))
        return sorted(answer("SELECT sales FROM t", {"t": read})["sales"].to_pylist())

    def bad(self) -> None:
        """Batch 5 fails, with a bad row."""
        self.root.drain(5, 5, red=True)
        self.root.append([row(5, "x", BAD)])

    def mended(self) -> None:
        """A run judges it well."""
        version = self.root.version
        cursor = self.root.cursor
        self.root.moved(judged=cursor.audited, judged_table_version=version)
        self.root._passed(5, 5, version)  # noqa: SLF001 - what a drain leaves


@pytest.fixture
def told(tmp_path) -> Told:
    return Told(tmp_path / ROOT)


def insert(root: Root) -> None:
    root.append([row(9, "x", BAD)])


def update(root: Root) -> None:
    root.table.update(updates={"sales": str(BAD)}, predicate="shop = 'a'")


def delete(root: Root) -> None:
    root.table.delete("shop = 'a'")


def restore(root: Root) -> None:
    root.table.restore(2)


def insert_and_optimize(root: Root) -> None:
    insert(root)
    root.table.optimize.compact()


def insert_and_swap(root: Root) -> None:
    insert(root)
    root.stage("r1", [(row(1, "a"), row(1, "a", 2))])
    root.swap("r1")


def copy_of_another(root: Root) -> None:
    """Another table is put at its place, with a version of that number."""
    path = str(root.paths.table)
    shutil.rmtree(path)
    for _ in range(9):
        deltalake.write_deltalake(path, pa.Table.from_pylist([row(9, "x", BAD)]), mode="append")


@pytest.mark.parametrize(
    "brings", [insert, update, delete, restore, insert_and_optimize, insert_and_swap]
)
def test_what_a_person_did_to_the_table_is_neither_shown_nor_told(told, brings):
    before = told.shown()
    brings(told.root)
    assert to_publish(told.root.paths, SPEC, told.listener.announced) is None
    assert told.listener.publish(told.root.paths, SPEC) is None
    assert told.shown() == before


def test_another_table_at_its_place_is_not_taken_for_the_judged_one(told):
    told.root.drain(5, 5)
    copy_of_another(told.root)
    assert told.listener.publish(told.root.paths, SPEC) is None
    log = Path(str(told.root.paths.published_table), "_delta_log")
    assert [path.name for path in log.glob("*.json")] == [f"{0:020d}.json"]


def test_failed_rows_that_a_repair_mended_are_not_shown_when_an_undo_brings_them_back(told):
    told.bad()
    told.root.stage("r1", [(row(5, "x", BAD), None)])
    told.root.swap("r1")
    told.mended()
    assert told.listener.publish(told.root.paths, SPEC) is not None
    assert BAD not in told.shown()
    assert not told.root.undo("r1").passed
    assert told.listener.publish(told.root.paths, SPEC) is None
    assert BAD not in told.shown()


def test_an_undo_that_gives_back_rows_that_had_passed_is_shown_and_told(told):
    told.root.stage("r1", [(row(1, "a"), row(1, "a", 2))])
    told.root.swap("r1")
    told.root.drain(5, 5)
    assert told.root.undo("r1").passed
    assert told.listener.publish(told.root.paths, SPEC) is not None
    assert 2 not in told.shown()
