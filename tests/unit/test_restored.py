"""A person's RESTORE of the table: seen whatever version it goes to, told with what it took out,
and mended by one command, which takes it back or keeps it.
"""

from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import deltalake
import pytest

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.rewind import rewind
from spark_jobs.errors import CheckpointBroken, TableReplaced
from spark_jobs.journal.runner import settle
from spark_jobs.runs.preflight import refuse_replaced, refuse_restored
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.sink.restored import restored
from spark_jobs.storage import failpoint
from spark_jobs.table.delta.table import Delta
from tests.harness.refused import fails, has
from tests.harness.roots import ROOT
from tests.harness.turns import held_by
from tests.unit.repaired import SPEC, Root, again, row

pytestmark = held_by("simulation/test_simulation.py")

WRONG = [(row(1, "a"), row(1, "a", 2)), (None, row(1, "d"))]
OTHER = [(row(3, "b"), row(3, "b", 5))]


class Killed(Exception):
    """What a kill is to a test."""


@pytest.fixture
def root(tmp_path) -> Root:
    """Batches 0 to 5 in versions 1 to 6, a repair in version 7, batch 6 in version 8; all passed."""
    return again(repaired, tmp_path / ROOT)


def repaired(folder: Path) -> Root:
    made = Root(folder)
    made.drain(0, 5)
    made.stage("r1", WRONG)
    made.swap("r1")
    made.drain(6, 6)
    return made


def looked(root: Root) -> None:
    """What a drain does first."""
    refuse_replaced(Delta(root.paths.table), SPEC.name, root.identity.table_id)
    refuse_restored(root.paths, root.cursor.judged_table_version)


def facts(root: Root) -> tuple[object, ...]:
    cursor = root.cursor
    return root.states(), root.merged(), cursor.audited, cursor.judged, root.identity


def mend(root: Root) -> tuple[str, ...]:
    """What doctor shows, once done."""
    intent = doctor(SPEC, root.settings)
    intent.execute()
    return intent.lines


def go_back(root: Root, batch: int) -> None:
    rewind(SPEC, root.settings, batch).execute()


@pytest.mark.parametrize(
    ("to", "batches", "ids", "keeps"),
    [
        (7, (6,), (), 5),
        (6, (6,), ("r1",), 5),
        (5, (5, 6), ("r1",), 4),
        (1, (1, 2, 3, 4, 5, 6), ("r1",), 0),
        (0, (0, 1, 2, 3, 4, 5, 6), ("r1",), -1),
    ],
)
def test_it_is_seen_and_told_whatever_version_it_goes_to_and_is_taken_back(
    root, to, batches, ids, keeps
):
    rows, known = root.rows(), facts(root)
    root.table.restore(to)
    found = restored(Delta(root.paths.table), 8)
    assert (found.version, found.to, found.whole) == (9, to, 8)
    assert (found.batches, found.repairs, found.keeps) == (batches, ids, keeps)
    with fails(TableReplaced, "restored") as refused:
        looked(root)
    assert ("repair r1 with its 1 records" in refused.value.parameters["did"]) == bool(ids)
    mend(root)
    looked(root)
    assert root.rows() == rows
    assert facts(root) == known
    assert root.cursor.judged_table_version == 10, "what had passed is the same rows"
    assert doctor(SPEC, root.settings).execute is None


def test_one_behind_a_repair_alone_is_seen_and_no_repair_goes_in_meanwhile(tmp_path):
    root = Root(tmp_path / ROOT)
    root.drain(0, 5)
    root.stage("r1", WRONG)
    root.swap("r1")
    root.stage("r2", OTHER)
    root.table.restore(6)
    for refused in (lambda: root.swap("r2"), lambda: root.swap("r1"), lambda: root.undo("r1")):
        with pytest.raises(TableReplaced):
            refused()
    assert root.version == 8
    mend(root)
    root.swap("r2")
    assert root.states() == {"r1": "swapped", "r2": "swapped"}


def test_a_rewind_keeps_it_with_its_facts(root):
    root.table.restore(6)
    go_back(root, 5)
    looked(root)
    assert root.rows() == root.rows(6)
    assert root.states() == {"r1": "undone"}
    assert root.merged() == []
    assert (root.cursor.audited, root.cursor.judged) == (5, 5)


@pytest.mark.parametrize(
    ("what", "states"),
    [
        ("the undo of repair r1", {"r1": "undone", "r1/undo": "swapped"}),
        ("a rewind", {"r1": "undone"}),
    ],
)
def test_one_that_took_out_an_undo_or_went_behind_a_rewind_says_so_and_is_taken_back(
    root, what, states
):
    """The rewind is in versions 9 and 10."""
    go_back(root, 3) if what == "a rewind" else root.undo("r1")
    rows = root.rows()
    root.table.restore(8)
    with fails(TableReplaced, "restored", did=has(what)):
        looked(root)
    mend(root)
    looked(root)
    assert (root.rows(), root.states()) == (rows, states)
    assert Delta(root.paths.table).generation() == root.identity.generation


def test_one_to_the_version_that_a_rewind_restored_gives_the_table_to_another_generation(root):
    go_back(root, 3)
    root.table.restore(4)
    with pytest.raises(TableReplaced):
        looked(root)
    mend(root)
    assert Delta(root.paths.table).generation() == root.identity.generation


def test_one_to_a_time_is_found_by_the_files(root):
    # When the file came: delta-rs goes by that, which a busy machine writes later than it says.
    entry = Path(str(root.paths.table)) / "_delta_log" / f"{5:020}.json"
    root.table.restore(datetime.fromtimestamp(entry.stat().st_mtime + 0.001, UTC))
    found = restored(Delta(root.paths.table), 8)
    assert found.batches == (5, 6)
    mend(root)
    looked(root)


def test_a_second_one_hides_nothing_and_what_a_person_mended_is_accepted(root):
    root.table.restore(3)
    root.table.restore(7)
    found = restored(Delta(root.paths.table), 8)
    assert (found.version, found.batches) == (9, (6,))
    root.table.restore(8)
    looked(root)
    root.drain(7, 7, red=True)
    looked(root)
    root.table.restore(11)
    found = restored(Delta(root.paths.table), 8)
    assert (found.version, found.batches) == (13, (7,)), "the first three are mended"


def test_one_that_takes_out_what_a_person_did_is_none_of_ours(root):
    root.table.delete("sales = 2")
    root.table.restore(8)
    looked(root)
    root.table.optimize.compact()
    looked(root)
    assert doctor(SPEC, root.settings).execute is None


def test_behind_a_batch_that_came_after_it_the_way_is_back_to_what_is_there(root):
    """A run was at work when it came. No version has all."""
    root.table.restore(4)
    root.commit(7)
    root.account(7)
    found = restored(Delta(root.paths.table), 8)
    assert (found.written_behind, found.keeps) == (True, 3)
    mend(root)
    looked(root)
    assert root.rows() == root.rows(4)
    assert root.cursor.audited == 3
    assert root.states() == {"r1": "undone"}


def test_without_the_files_from_before_it_the_way_is_back_to_what_is_there(root):
    root.table.restore(6)
    root.table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    mend(root)
    looked(root)
    assert root.rows() == root.rows(6)
    assert root.states() == {"r1": "undone"}
    assert root.cursor.audited == 5


def test_what_was_written_behind_it_goes_and_is_told(root):
    rows = root.rows()
    root.table.restore(6)
    root.table.delete("sales = 1")
    assert any("changed up to version 10" in line for line in doctor(SPEC, root.settings).lines)
    mend(root)
    assert root.rows() == rows


def places(active: pytest.MonkeyPatch, kill_at: int) -> None:
    passed = count()

    def at(name: str) -> None:
        if name in failpoint.CHANGE_POINTS and next(passed) == kill_at:
            raise Killed

    active.setattr(failpoint, "at", at)


@pytest.mark.parametrize("place", range(4))
def test_taking_it_back_is_completed_by_whoever_comes_next(root, place):
    rows, known = root.rows(), facts(root)
    root.table.restore(5)
    with pytest.MonkeyPatch.context() as active:
        places(active, place)
        with pytest.raises(Killed):
            mend(root)
    assert settle(root.paths, "drain")
    looked(root)
    assert root.rows() == rows
    assert facts(root) == known
    assert root.cursor.judged_table_version == root.version == 10


@pytest.mark.parametrize("place", [1, 3])
def test_one_amid_a_rewind_is_seen_when_that_is_completed(root, place):
    """The rewind was killed behind its RESTORE, or behind the change of the generation."""
    with pytest.MonkeyPatch.context() as active:
        places(active, place)
        with pytest.raises(Killed):
            go_back(root, 3)
    root.table.restore(8)
    settle(root.paths, "drain")
    with pytest.raises(TableReplaced):
        looked(root)
    mend(root)
    looked(root)
    assert root.rows() == root.rows(4)
    assert Delta(root.paths.table).generation() == root.identity.generation
    assert root.states() == {"r1": "undone"}


def test_one_amid_a_swap_is_seen_when_that_is_completed(root):
    root.stage("r2", OTHER)

    def at(name: str):
        if name == "swap.committed":
            raise Killed

    with pytest.MonkeyPatch.context() as active:
        active.setattr(failpoint, "at", at)
        with pytest.raises(Killed):
            root.swap("r2")
    rows = root.rows()
    root.table.restore(8)
    settle(root.paths, "drain")
    with fails(TableReplaced, "restored", did=has("repair r2")):
        looked(root)
    mend(root)
    assert root.rows() == rows
    assert root.states() == {"r1": "swapped", "r2": "swapped"}
    assert root.swap("r2").table_version == 9


def test_consumers_read_what_has_passed_before_it_and_behind_its_mending(root):
    publish(root.paths, SPEC, Announced())

    def shown() -> list[str]:
        return root.rows_of(root.paths.published_table)

    rows = shown()
    root.table.restore(4)
    publish(root.paths, SPEC, Announced(1, "g1", 8))
    assert shown() == rows
    mend(root)
    publish(root.paths, SPEC, Announced(1, "g1", 8))
    assert shown() == rows == root.rows()


def test_one_of_the_published_table_is_put_right_by_the_next_publish(tmp_path):
    root = Root(tmp_path / ROOT)
    root.drain(0, 2)
    publish(root.paths, SPEC, Announced())
    root.drain(3, 3)
    publish(root.paths, SPEC, Announced(1, "g1", 3))
    deltalake.DeltaTable(str(root.paths.published_table)).restore(0)
    publish(root.paths, SPEC, Announced(2, "g1", 4))
    assert root.rows_of(root.paths.published_table) == root.rows()


def test_what_doctor_cannot_mend_it_says(root):
    """No state of a batch that is there is whole, and no version has all."""
    root.table.restore(0)
    root.table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    with fails(CheckpointBroken, "no_whole_batch"):
        doctor(SPEC, root.settings)
