"""A repair of the side table whose swap was cut off, and a rebuild that goes on: without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs import failpoint
from spark_jobs.journal.runner import settle
from spark_jobs.ops import repairs
from tests.harness.roots import ROOT
from tests.unit.repaired import SPEC, Changes, Root, row

WRONG: Changes = [(row(1, "a"), row(1, "a", 2))]


@pytest.fixture
def root(tmp_path: Path) -> Root:
    """Batches 0 to 5 have passed."""
    made = Root(tmp_path / ROOT)
    made.drain(0, 5)
    return made


def stage(root: Root, repair_id: str, changes: Changes) -> None:
    root.stage(repair_id, changes)
    known = {"pipeline": SPEC.name, "repair_id": repair_id, "generation": "g1"}
    repairs.put(root.paths.root, [known | {"state": "staged"}])


@pytest.mark.parametrize("point", ["swap.committed", "swap.recorded"])
def test_a_swap_that_was_cut_off_behind_its_commit_is_completed_so_that_nothing_waits_for_a_drain(
    root: Root, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    stage(root, "r1", WRONG)
    stage(root, "r2", [(row(3, "a"), None)])
    monkeypatch.setitem(failpoint.ACTIVE, point, "raise")
    with pytest.raises(failpoint.Failure):
        root.swap("r1")
    failpoint.ACTIVE.pop(point)
    assert root.cursor.judged_table_version == root.version - 1, "its rows wait for their checks"
    settle(root.paths, "again")
    assert root.cursor.judged_table_version == root.version == 7
    assert root.states() == {"r1": "swapped", "r2": "staged"}, "what was not swapped is not"
    settle(root.paths, "again")
    assert root.version == 7
