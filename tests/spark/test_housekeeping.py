"""What happens beside a drain: its owner keeps house in the table, another takes its lease."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading

import deltalake

from spark_jobs import lease
from spark_jobs.contract.errors import LeaseLost
from spark_jobs.drain import drain


def test_compaction_and_vacuum_beside_a_drain_change_nothing(scene):
    made = scene("flight_events", events=2400, deliveries=2, max_offsets_per_batch=150)
    done, compacted = threading.Event(), itertools.count()

    def keep_house() -> None:
        while not done.wait(0.05):
            if deltalake.DeltaTable.is_deltatable(str(made.paths.table)):
                with contextlib.suppress(deltalake.exceptions.CommitFailedError):
                    table = deltalake.DeltaTable(str(made.paths.table))
                    if table.optimize.compact()["numFilesRemoved"]:
                        next(compacted)
                    table.vacuum(dry_run=False)

    for number in range(2):
        made.deliver()
        done.clear()
        beside = threading.Thread(target=keep_house)
        beside.start()
        try:
            report = drain(made.spec, made.settings, f"run-{number}", logging.getLogger("drain").info)
        finally:
            done.set()
            beside.join()
        assert report.status == "succeeded", report.problem
    assert next(compacted) > 2, "nothing was compacted while the drain ran"
    made.assert_exact()


def test_a_run_that_lost_its_lease_commits_nothing_and_says_so(scene, monkeypatch):
    made = scene("flight_events", events=300, deliveries=1)
    made.deliver()

    def lost(_held) -> None:
        raise LeaseLost("taken by another run.", "Nothing of its last batch was committed.")

    with monkeypatch.context() as slept:
        slept.setattr(lease.FileLock, "confirm", lost)
        report = drain(made.spec, made.settings, "slept", logging.getLogger("drain").info)
    assert report.problem.code == "LEASE_LOST"
    assert made.table() == []
    assert drain(made.spec, made.settings, "next", logging.getLogger("drain").info).status == "succeeded"
    made.assert_exact()
