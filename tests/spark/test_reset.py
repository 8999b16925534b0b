"""Beginning anew and going back, over real checkpoints: shown first, done on request, the old ones
kept.
"""

from __future__ import annotations

from pathlib import Path

import deltalake
import pytest

from spark_jobs.admin.reset import reset, rewind
from spark_jobs.checkpoint.lease import lease
from spark_jobs.contract.errors import LeaseHeld, StateUnreadable
from tests.harness import oracle
from tests.harness.crash import copied, files
from tests.harness.scene import Scene


def kept(beside: Path) -> Path:
    """What was kept of it: there is one."""
    [aside] = beside.parent.glob(f"{beside.name}.kept-*")
    return aside


@pytest.mark.parametrize(
    ("pipeline", "provider"), [("aircraft_rotations", "rocksdb"), ("departure_delays", "hdfs")]
)
def test_after_going_back_the_later_batches_are_read_again_and_nothing_is_lost_or_doubled(
    scene, pipeline, provider
):
    made = scene(pipeline, events=1500, deliveries=2, max_offsets_per_batch=300)
    made.change(state=made.spec.state.model_copy(update={"provider": provider}))
    made.deliver()
    before = made.run("before")
    root = Path(made.settings.root)
    back, later = before.batches[1], before.batches[2:]
    assert later, "there is nothing to go back from"
    stay = sum(row["read"] for row in made.ops("batches") if row["batch_id"] <= back)
    there = files(root)
    intent = rewind(made.spec, made.settings, back)
    assert files(root) == there, "showing changes nothing"
    assert f"remove batches {list(later)}" in " ".join(intent.lines)
    intent.execute()
    assert f"spark/commits/{later[-1]}" in files(kept(Path(str(made.paths.version))))
    made.deliver()
    again = made.run("again")
    assert again.generation != before.generation
    assert again.account.read == made.ledger.num_rows - stay
    made.assert_exact()


@pytest.fixture(scope="module")
def base(kafka, tmp_path_factory) -> Scene:
    """A pipeline that has drained all there is, in one batch with data."""
    made = Scene(kafka, tmp_path_factory.mktemp("base"), "flight_events", events=600, deliveries=1)
    made.deliver_all()
    made.run("old")
    return made


def test_beginning_anew_reads_everything_into_a_new_table_and_keeps_the_old(base, tmp_path):
    made = copied(base, tmp_path / "root")
    table, version = Path(str(made.paths.table)), Path(str(made.paths.version))
    intent = reset(made.spec, made.settings)
    before = files(version)
    assert table.exists()
    intent.execute()
    assert not table.exists()
    new = made.run("new")
    # No record of a first batch is late.
    wanted = oracle.comparable(
        oracle.flight_events(oracle.events(made.ledger, set()), new.ended_at)
    )
    assert new.account.read == made.ledger.num_rows
    assert oracle.comparable(made.table()) == wanted
    assert (
        oracle.comparable(deltalake.DeltaTable(str(kept(table))).to_pyarrow_table().to_pylist())
        == wanted
    )
    assert files(kept(version)) == before


def test_neither_works_beside_a_run_or_to_a_batch_that_is_not_there(base, tmp_path):
    made = copied(base, tmp_path / "root")
    with lease(made.paths.lease, "another"):
        for intent in (reset(made.spec, made.settings), rewind(made.spec, made.settings, 0)):
            with pytest.raises(LeaseHeld):
                intent.execute()
    with pytest.raises(StateUnreadable, match="the complete state after batch 99"):
        rewind(made.spec, made.settings, 99)
