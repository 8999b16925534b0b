"""Beginning anew and going back, over real checkpoints: shown first, done on request, the old ones kept."""

from __future__ import annotations

import logging

import pytest

from spark_jobs.contract.errors import LeaseHeld, StateUnreadable
from spark_jobs.drain import drain
from spark_jobs.lease import lease
from spark_jobs.reset import reset, rewind


def run(scene, name: str):
    report = drain(scene.spec, scene.settings, name, logging.getLogger("drain").info)
    assert report.status == "succeeded", report.problem
    assert report.account.unaccounted == 0
    return report


def files(scene) -> set[str]:
    return {str(path) for path in scene.paths.root.rglob("*")}


@pytest.mark.parametrize(("pipeline", "provider"), [
    ("aircraft_rotations", "rocksdb"), ("departure_delays", "rocksdb"), ("departure_delays", "hdfs"),
])
def test_after_going_back_the_later_batches_are_read_again_and_nothing_is_lost_or_doubled(scene, pipeline, provider):
    made = scene(pipeline, events=3000)
    made.spec = made.spec.model_copy(update={"state": made.spec.state.model_copy(update={"provider": provider})})
    made.deliver()
    first = run(made, "first")
    made.deliver()
    second = run(made, "second")
    before = files(made)
    intent = rewind(made.spec, made.settings, first.batches[-1])
    assert files(made) == before, "showing changes nothing"
    assert f"forget batches {list(second.batches)}" in " ".join(intent.lines)
    intent.execute()
    assert any("kept-" in path for path in files(made))
    made.deliver()
    again = run(made, "again")
    assert again.generation != second.generation
    assert again.account.read == made.ledger.num_rows - first.account.read
    made.assert_exact()


def test_beginning_anew_reads_everything_into_a_new_table_and_keeps_the_old(scene):
    made = scene("flight_events", events=600, deliveries=1)
    made.deliver_all()
    old = run(made, "old")
    intent = reset(made.spec, made.settings)
    assert made.paths.table.exists()
    intent.execute()
    assert not made.paths.table.exists()
    new = run(made, "new")
    assert (new.account.read, new.account.rows_out) == (old.account.read, old.account.rows_out)
    assert len(made.table()) == new.account.rows_out
    kept = [path for path in (made.paths.root / "tables").iterdir() if "kept-" in path.name]
    assert len(kept) == 1


def test_neither_works_beside_a_run_or_to_a_batch_that_is_not_there(scene):
    made = scene("flight_events", events=300, deliveries=1)
    made.deliver_all()
    run(made, "run")
    with lease(made.paths.lease, "another"), pytest.raises(LeaseHeld):
        reset(made.spec, made.settings).execute()
    with pytest.raises(StateUnreadable, match="the state after batch 99"):
        rewind(made.spec, made.settings, 99)
