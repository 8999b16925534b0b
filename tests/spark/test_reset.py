"""Beginning anew and going back over real checkpoints: shown, then done, the old ones kept."""

from pathlib import Path
from typing import Any

import deltalake
import pytest

from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.identity import read_superseded
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.failing import FailingRecord, FailingRecords, read_failing
from spark_jobs.errors import LeaseHeld, SparkFailed, StateUnreadable
from spark_jobs.proof.acts import files
from spark_jobs.runs.plan import plan
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.storage import failpoint
from spark_jobs.table.delta import door
from tests.harness import oracle
from tests.harness.crash import copied
from tests.harness.long_form import long_form
from tests.harness.refused import because, fails, has
from tests.harness.roots import ROOT
from tests.harness.scene import Scene
from tests.harness.turns import held_by

pytestmark = held_by("unit/test_rewind.py", "unit/test_anew.py")


def shown(made: Scene) -> list[dict[str, Any]]:
    """What consumers read in the published table."""
    table = deltalake.DeltaTable(str(made.paths.published_table)).to_pyarrow_table()
    return sorted(table.to_pylist(), key=str)


def moved(made: Scene) -> bool:
    """Whether a publish has moved the published table."""
    before = shown_version(made) if door.is_table(made.paths.published_table) else -1
    publish(made.paths, made.spec, Announced())
    return shown_version(made) != before


def shown_version(made: Scene) -> int:
    return deltalake.DeltaTable(str(made.paths.published_table)).version()


@pytest.mark.parametrize(
    ("pipeline", "provider"),
    [pytest.param("aircraft_rotations", "rocksdb", marks=long_form), ("departure_delays", "hdfs")],
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
    nowhere = {
        batch: FailingRecord(batch=batch, partition=99, offset=0, reason="")
        for batch in (back, later[0])
    }
    FailingRecords(records=tuple(nowhere.values())).write(made.paths.failing)
    there = files(root)
    intent = rewind(made.spec, made.settings, back)
    assert files(root) == there, "showing changes nothing"
    assert f"leave batches {list(later)}" in " ".join(intent.lines)
    moved(made)
    intent.execute()
    assert not moved(made), "no verdict was about these rows alone"
    assert f"spark/commits/{later[-1]}" in files(Path(str(made.paths.version))), "it is left"
    assert Checkpoint(made.paths.checkpoint).committed() == [*range(back + 1)]
    assert read_failing(made.paths.failing).records == (nowhere[back],)
    made.deliver()
    again = made.run("again")
    assert again.generation != before.generation
    assert again.account.read == made.ledger.num_rows - stay
    made.assert_exact()
    assert moved(made), "what was taken back is gone for consumers too"
    assert oracle.comparable(shown(made)) == oracle.comparable(made.table())


@pytest.fixture(scope="module")
def base(kafka, tmp_path_factory) -> Scene:
    """A pipeline that has drained all there is, in one batch with data."""
    folder = tmp_path_factory.mktemp("base")
    made = Scene(kafka, folder, "flight_events", events=600, deliveries=1, stores=1)
    made.deliver_all()
    made.run("old")
    return made


def test_beginning_anew_reads_everything_into_a_new_table_and_keeps_the_old(base, tmp_path):
    made = copied(base, tmp_path / ROOT)
    table, version = Path(str(made.paths.table)), Path(str(made.paths.version))
    intent = reset(made.spec, made.settings)
    before = files(version)
    assert table.exists()
    moved(made)
    old = shown(made)
    intent.execute()
    assert not made.paths.table.exists()
    assert shown(made) == old, "consumers read the old table, until there is something new"
    new = made.run("new")
    assert moved(made)
    assert oracle.comparable(shown(made)) == oracle.comparable(made.table())
    # No record of a first batch is late.
    wanted = oracle.comparable(
        oracle.flight_events(oracle.events(made.ledger, set()), new.ended_at)
    )
    assert new.account.read == made.ledger.num_rows
    assert oracle.comparable(made.table()) == wanted
    assert (
        oracle.comparable(deltalake.DeltaTable(str(table)).to_pyarrow_table().to_pylist()) == wanted
    )
    assert files(version) == before


def test_neither_works_beside_a_run_or_to_a_batch_that_is_not_there(base, tmp_path):
    made = copied(base, tmp_path / ROOT)
    with lease(made.paths.lease, "another"):
        for intent in (reset(made.spec, made.settings), rewind(made.spec, made.settings, 0)):
            with pytest.raises(LeaseHeld):
                intent.execute()
    with fails(StateUnreadable, "state_incomplete"):
        rewind(made.spec, made.settings, 99)


def raise_at(place: str, active: pytest.MonkeyPatch, passed: int = 0) -> None:
    """Fail at the failpoint, once it was passed so many times."""
    left = iter(range(passed))

    def at(name: str) -> None:
        if name == place and next(left, None) is None:
            raise failpoint.Failure(f"failpoint {name}")

    active.setattr(failpoint, "at", at)


@pytest.mark.parametrize("place", ["audit", "audited"])
def test_a_batch_without_an_account_that_one_goes_back_to_gets_its_whole_account(drained, place):
    audited = read_cursor(drained.paths.cursor).audited
    with pytest.MonkeyPatch.context() as active:
        raise_at(place, active)
        because(drained.drain("killed").problem, SparkFailed, "unexpected", text=has("failpoint"))
    left = [each for each in Checkpoint(drained.paths.checkpoint).committed() if each > audited]
    assert left
    rewind(drained.spec, drained.settings, left[-1]).execute()
    report = drained.run("after the rewind")
    assert report.recovered == tuple(left)
    batches = [row["batch_id"] for row in drained.ops("batches")]
    assert len(batches) == len(set(batches)), "a batch has two accounts"
    drained.assert_exact()


def renamed(made: Scene, was: str, now: str) -> None:
    """Another name for a field of the topic, as a spec has it that somebody corrects."""
    fields = tuple(
        field.model_copy(update={"name": now}) if field.name == was else field
        for field in made.spec.topic.fields
    )
    made.change(topic=made.spec.topic.model_copy(update={"fields": fields}))


def test_a_spec_that_is_corrected_before_anything_was_accepted_reads_the_topic_again(scene):
    """It was refused: there was no state to protect, and only a reset helped."""
    made = scene("flight_events", events=600, deliveries=1, state_checks_off=())
    made.deliver()
    renamed(made, "carrier", "Carrier")
    first = made.drain("first")
    assert first.problem.code == "CHECK_FAILED"
    assert (first.account.accepted, first.account.malformed) == (0, first.account.read)
    renamed(made, "Carrier", "carrier")
    made.run("corrected")
    verifier = made.verifier
    verifier.hold_table()
    [told] = verifier.told  # of two generations, and nothing of the rows
    assert told.startswith("ops.batches has not each batch once")
    bad = [row for row in made.ledger.to_pylist() if row["kind"] in {"malformed", "premature"}]
    rejected = [
        [(row["partition"], row["offset"]) for row in rows]
        for rows in (bad, made.ops("quarantine"))
    ]
    assert sorted(rejected[0]) == sorted(rejected[1]), (
        "none is there twice, and none that is good now"
    )
    accounts = made.ops("batches", "generation, run_id, read")
    assert {row["run_id"] for row in accounts} == {"first", "corrected"}
    assert len({row["generation"] for row in accounts}) == 2
    assert read_superseded(made.paths) is None
    assert plan(made.spec, made.settings).reasons == ()
