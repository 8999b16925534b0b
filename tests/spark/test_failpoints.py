"""A failure at each named place of a run, then a run that goes on: the table, the account and the late records are exact."""

from __future__ import annotations

import logging

import pytest

from spark_jobs import failpoint
from spark_jobs.checkpoint import Checkpoint
from spark_jobs.drain import drain

IN_A_DRAIN = [name for name in failpoint.POINTS if name != "reported"]  # that is main.py's, and tests/e2e's


def run(scene, name: str):
    return drain(scene.spec, scene.settings, name, logging.getLogger("drain").info)


def test_a_run_that_fails_at_every_place_in_turn_and_goes_on_gives_the_same_table(scene, monkeypatch):
    made = scene("aircraft_rotations", events=3000, deliveries=3)
    for number in range(2):
        made.deliver()
        for name in IN_A_DRAIN:
            with monkeypatch.context() as active:
                active.setitem(failpoint.ACTIVE, name, "raise")
                failed = run(made, f"{name}-{number}")
            assert failed.problem is not None, name
            assert failed.problem.code == "SPARK_FAILED"
            assert f"failpoint {name}" in failed.problem.what, failed.problem
        assert run(made, f"whole-{number}").account.unaccounted == 0
        made.assert_exact()
    made.deliver()
    assert run(made, "last").account.late > 0
    made.assert_exact()


@pytest.mark.parametrize("name", ["planned", "table.committed"])
def test_a_run_whose_every_batch_fails_once_on_its_way_gives_the_same_table(scene, monkeypatch, name):
    made = scene("departure_delays", events=1500, deliveries=1, max_offsets_per_batch=500)
    made.deliver_all()
    checkpoint, failed = Checkpoint(made.paths.checkpoint), set()

    def at(place: str) -> None:
        batch = max(checkpoint.planned(), default=-1)
        if place == name and batch not in failed:
            failed.add(batch)
            raise failpoint.Failure(f"failpoint {place}")

    monkeypatch.setattr(failpoint, "at", at)
    while run(made, f"after {len(failed)} failures").problem:
        assert len(failed) < 20
    assert len(failed) >= 4
    made.assert_exact()
