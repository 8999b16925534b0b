"""What happens beside a drain: its owner keeps house in the table, another takes its lease."""

import itertools
import json
from types import SimpleNamespace

import deltalake
import pytest

from spark_jobs.checkpoint import lease
from spark_jobs.errors import LeaseLost
from spark_jobs.table.delta import commit
from tests.harness.refused import because
from tests.harness.turns import alike

pytestmark = alike("upkeep beside drains")


def test_compaction_and_vacuum_beside_a_drain_change_nothing(scene, monkeypatch):
    made = scene("flight_events", events=1200, deliveries=1, max_offsets_per_batch=300)
    removed = []

    def keep_house(note: dict) -> str:
        """Asked when a batch's files are written: its transaction commits after these changes."""
        table = deltalake.DeltaTable(str(made.paths.table))
        removed.append(table.optimize.compact()["numFilesRemoved"])
        table.vacuum(dry_run=False)
        return json.dumps(note)

    monkeypatch.setattr(commit, "json", SimpleNamespace(dumps=keep_house))
    made.deliver()
    batches = made.run().batches
    assert len(removed) == len(batches) >= 4
    assert sum(files > 0 for files in removed) >= 2, "there was little to compact"
    made.assert_exact()


@pytest.mark.parametrize("held", [3, 4, 5], ids=["new", "table made", "batch planned"])
def test_a_run_that_lost_its_lease_commits_nothing_and_the_next_goes_on(scene, monkeypatch, held):
    """It is lost where the identity is stored, where the table's id is, where a batch commits."""
    made = scene("flight_events", events=300, deliveries=1)
    made.deliver()
    asked = itertools.count()

    def lost(_held):
        if next(asked) >= held:
            raise LeaseLost.change_elsewhere(path="journal.json")

    with monkeypatch.context() as slept:
        slept.setattr(lease.FileLock, "confirm", lost)
        report = made.drain("slept")
    because(report.problem, LeaseLost, "change_elsewhere", path="journal.json")
    assert made.paths.table.exists() == (held > 3)
    assert (held == 3) or made.table() == []
    made.run("next")
    made.assert_exact()
