"""`sluice repartition` without Spark: what it shows, what it refuses, and what is taken back of one
that was cut off.
"""

import json
import shutil
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.rebuild.beside import begin
from spark_jobs.admin.repartition import Planned, plan_repartition
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.branch import branch
from spark_jobs.checkpoint.identity import FIELD, Before, Identity, MadeBy, read_identity
from spark_jobs.checkpoint.integrity import Integrity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.begun import Begun, under_way
from spark_jobs.checkpoint.purge import purge
from spark_jobs.errors import (
    CheckpointBroken,
    LeaseHeld,
    RepartitionRefused,
    StateIncompatible,
    StateUnreadable,
)
from spark_jobs.journal import runner
from spark_jobs.messages.report import StateUse
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.runs.repartition import Repartition
from spark_jobs.runs.resume.moved_root import name_own
from spark_jobs.spec import Aggregate, Pipeline, State, Transform
from spark_jobs.storage import failpoint
from tests.harness.refused import fails, has
from tests.unit.checkpoints import plan_batch
from tests.unit.drains import NOON, SPEC, Drains
from tests.unit.specs import TWO_APART, aggregate, deduplicate, pipeline, topic

NEWEST = 2
"""The newest batch of `root`."""
MOVED = "spark-20260101T000000000000"
"""The folder of a repartition."""


class Held:
    """A lease that is never lost."""

    def confirm(self) -> None:
        """It is held."""


@pytest.fixture
def root(tmp_path) -> Drains:
    """Batches 0 to 2 have passed, with state in two stores for each of two steps."""
    made = Drains(tmp_path / "root")
    made.drain(0, NEWEST)
    for batch in range(NEWEST + 1):
        keep(made, batch, 2)
    for path in made.folder.glob("state/0/0/*.snapshot"):
        path.unlink()
    return made


def keep(root: Drains, batch: int, stores: int, checkpoint: Path | None = None) -> None:
    """The snapshot of every store after a batch, and the commit that names them."""
    checkpoint = checkpoint or root.folder
    for store in (f"state/{step}/{number}" for step in range(2) for number in range(stores)):
        folder = checkpoint / store
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / f"{batch + 1}_id.zip", "w") as file:
            file.writestr("metadata", 'v1\n{"sstFiles":[],"numKeys":0}')
        (folder / f".{batch + 1}_id.zip.crc").write_text("")
    ids = {str(step): [["id"]] * stores for step in range(2)}
    said = "v2\n" + json.dumps({"nextBatchWatermarkMs": 0, "stateUniqueIds": ids})
    (checkpoint / "commits" / str(batch)).write_text(said)
    (checkpoint / "commits" / f".{batch}.crc").write_bytes(b"crc\0")


def note(root: Drains, wanted: int, done: tuple[str, ...] = ()) -> None:
    """What is there of a repartition before Spark begins, or behind its steps."""
    moved = root.identity.with_partitions(wanted)
    known = {"left": root.identity.spark, "spark": MOVED, "identity": moved}
    facts = Repartition(batch=NEWEST + 1, number=2, wanted=wanted, **known)
    Begun(
        change="repartition",
        version=root.paths.version.name,
        id="id",
        by="somebody",
        at=NOON,
        words="a repartition",
        facts=facts.model_dump(mode="json"),
        done=done,
    ).write(root.paths.journal)


def written(root: Drains, number: int) -> Path:
    """What is there of a repartition when it was cut off: the note, and what Spark has written."""
    note(root, number)
    folder = Path(str(root.paths.version / MOVED))
    branch(root.paths.checkpoint, root.paths.version / MOVED, NEWEST, lambda: None)
    plan_batch(folder, NEWEST + 1, {0: NEWEST + 1}, topic="sales", partitions=number)
    keep(root, NEWEST + 1, number, folder)
    for operator in range(2):
        notes = folder / "state" / str(operator) / "_metadata" / "v2"
        notes.mkdir(parents=True, exist_ok=True)
        for batch in (0, NEWEST + 1):
            (notes / str(batch)).write_text("v2")
            (notes / f".{batch}.crc").write_text("")
    return folder


def counts(root: Drains, number: int, *, noted: bool = False) -> None:
    """Let the repartition count. `noted`: a kill behind that, before the note went."""
    note(root, number, ("move_state",))
    root.identity.with_partitions(number).in_folder(MOVED).write(root.paths.identity)
    if not noted:
        root.paths.journal.unlink()


def number(root: Drains) -> object:
    """Of the stores, as the identity has it."""
    return root.identity.fingerprint[FIELD]


def settled(root: Drains) -> str:
    """What a drain says of the stores, behind what was begun."""
    runner.settle(root.paths, "drain")
    lines = "\n".join(name_own(root.paths, Held()))
    assert name_own(root.paths, Held()) == (), "and it is done"
    assert under_way(root.paths) is None
    return lines


def planned(root: Drains, wanted: int, spec: Pipeline = SPEC) -> Planned:
    return plan_repartition(spec, root.settings, wanted)


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_it_shows_the_stores_of_now_and_of_then_the_size_of_the_state_and_the_time(root):
    state = StateUse(rows=3_000_000, bytes=250_000_000)
    root.cursor.model_copy(update={"state": state}).write(root.paths.cursor)
    before = files(root.folder)
    lines, rows, idle = planned(root, 4)
    assert (rows, idle) == (3_000_000, False)
    assert "3,000,000 rows of state, 250.0 MB, in 2 stores for each stateful step" in lines[0]
    assert "after batch 2 to 4 stores for each step, as batch 3" in lines[1]
    assert "perhaps 120 seconds" in lines[1]
    assert any("spec.py has shuffle_partitions=2: set 4 there too" in line for line in lines)
    assert files(root.folder) == before


def test_it_says_nothing_of_a_spec_that_has_the_number_already(root):
    lines = planned(root, 4, pipeline(state=State(shuffle_partitions=4))).lines
    assert not any("spec.py has" in line for line in lines)


def test_as_many_stores_as_there_are_is_nothing_to_do(root):
    lines, rows, idle = planned(root, 2)
    assert (rows, idle) == (0, True)
    assert "nothing to move" in lines[-1]


@pytest.mark.parametrize("wanted", [0, -1, 10_001])
def test_a_number_that_no_step_can_have_is_refused(root, wanted):
    with fails(RepartitionRefused, "stores_out_of_range"):
        planned(root, wanted)


def test_a_pipeline_that_never_ran_takes_the_number_from_its_spec(tmp_path):
    made = Drains(tmp_path / "root")
    made.paths.identity.unlink()
    with fails(RepartitionRefused, "no_state_yet"):
        planned(made, 4)


def test_a_pipeline_without_state_is_refused(root):
    stateless = pipeline(steps=(Transform(where="amount > 0"),), watermark_delay=None)
    with fails(RepartitionRefused, "stateless"):
        planned(root, 4, stateless)


@pytest.mark.parametrize(
    "stored",
    [{"state.provider": "hdfs", "state.format": 1}, {"state.format": 1}, {"state.format": None}],
)
def test_state_that_spark_cannot_move_is_refused(root, stored):
    known = root.identity
    there = {name: each for name, each in (known.fingerprint | stored).items() if each is not None}
    known.model_copy(update={"fingerprint": there}).write(root.paths.identity)
    with fails(RepartitionRefused, "provider_unmovable"):
        planned(root, 4)


def test_beside_a_run_it_is_refused_with_the_name_of_the_run(root):
    with lease(root.paths.lease, "the drain"), fails(LeaseHeld, "held", holder=has("the drain")):
        planned(root, 4)


def test_behind_a_batch_that_is_not_committed_it_asks_for_a_run(root):
    plan_batch(root.folder, NEWEST + 1, {0: 9}, topic="sales")
    with fails(RepartitionRefused, "batch_uncommitted"):
        planned(root, 4)


def test_beside_a_rebuild_it_is_refused(root):
    begin(root.paths, pipeline(state=State(version=2)), "topic-1", "somebody")
    with fails(RepartitionRefused, "rebuild_at_work"):
        planned(root, 4)


def test_a_rewind_that_was_begun_comes_first(root, monkeypatch):
    execute = rewind(SPEC, root.settings, 1).execute
    assert execute is not None
    with monkeypatch.context() as active:
        active.setitem(failpoint.ACTIVE, "change.begun", "raise")
        with pytest.raises(failpoint.Failure):
            execute()
    assert "a rewind to the end of batch 1" in planned(root, 4).lines[0]


def test_a_damaged_log_is_refused(root):
    (root.folder / "commits" / str(NEWEST)).write_text("")
    with fails(CheckpointBroken, "file_damaged", what=has("commits/2")):
        planned(root, 4)


@pytest.mark.parametrize("gone", ["1/1", "1/1/3_id.zip", "0/0/3_id.zip"])
def test_state_that_is_not_whole_is_not_moved(root, gone):
    """Spark's source reads the stores that it finds: without the last one, all but its keys."""
    path = root.folder / "state" / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with fails(CheckpointBroken, "file_damaged", what=has("/3_id.zip is missing")):
        planned(root, 4)


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("torn", [False, True])
def test_what_is_there_of_one_that_was_cut_off_is_taken_back(root, number, *, torn):
    before = files(root.folder.parent)
    folder = written(root, number)
    if torn:
        shutil.rmtree(folder / "state")
    assert "take back" in planned(root, 4).lines[0]
    assert settled(root) == ""
    assert files(root.folder.parent) - {"journal.json"} == before
    assert Checkpoint(root.paths.checkpoint).readable() == [0, 1, 2]


def test_a_process_that_slept_in_spark_writes_where_nobody_reads(root):
    """A run has taken it back, and drained a batch of that number."""
    written(root, 4)
    settled(root)
    root.commit(NEWEST + 1)
    keep(root, NEWEST + 1, 2)
    written(root, 4)
    root.paths.journal.unlink()
    checkpoint = Checkpoint(root.paths.checkpoint)
    assert [checkpoint.partitions(batch) for batch in checkpoint.committed()] == [2] * 4
    assert doctor(SPEC, root.settings).execute is None
    assert planned(root, 2).idle


@pytest.mark.parametrize("noted", [False, True])
@pytest.mark.parametrize("told", [2, 4])
def test_one_whose_state_was_compared_counts(root, told, *, noted):
    written(root, 4)
    left = root.identity.spark
    counts(root, 4, noted=noted)
    if noted and told == 2:  # a kill before the identity
        root.identity.with_partitions(2).in_folder(left).write(root.paths.identity)
    assert settled(root) == ""
    assert (number(root), Checkpoint(root.paths.checkpoint).committed()) == (4, [0, 1, 2, 3])


def test_the_state_of_inputs_apart_is_not_moved(root):
    with fails(RepartitionRefused, "inputs_apart"):
        planned(root, 4, pipeline(**TWO_APART))


def test_an_aggregate_of_everything_is_not_moved(root):
    one = Aggregate(measures={"n": "count(*)"})
    spec = pipeline(steps=(one,), output_mode="update", state=State(budget_rows=1))
    with fails(RepartitionRefused, "step_without_keys"):
        planned(root, 4, spec)


def test_an_aggregate_of_everything_is_not_moved_because_spec_py_has_keys_by_now(tmp_path):
    """No drain would take that spec. Put back, it would look for the row in its one store."""
    one = Aggregate(measures={"n": "count(*)"})
    whole = pipeline(steps=(one,), output_mode="update", state=State(budget_rows=1))
    made = Drains(tmp_path / "root", whole)
    made.drain(0, NEWEST)
    keyed = one.model_copy(update={"keys": ("shop",)})
    edited = whole.model_copy(update={"steps": (keyed,)})
    with fails(StateIncompatible, "steps_changed", differences=has("steps[0].keys")):
        planned(made, 4, edited)


@pytest.mark.parametrize("wanted", ["former", "accepted"])
def test_a_change_that_is_accepted_and_that_no_batch_is_made_by_is_none_of_the_steps(root, wanted):
    former = MadeBy.model_validate(root.identity)
    dated = SPEC.model_copy(update={"steps": (deduplicate(keys=("id", "shop")), aggregate())})
    now = fingerprint(dated, version("pyspark"))
    before = Before(made_by=former, committed=NEWEST, written=NEWEST)
    changed = root.identity.model_copy(update={"fingerprint": now, "before": before})
    changed.write(root.paths.identity)
    spec = {"former": SPEC, "accepted": dated}[wanted]
    assert "to 4 stores" in planned(root, 4, spec).lines[1]


def test_another_topic_or_another_mode_in_spec_py_does_not_matter(root):
    other = SPEC.model_copy(update={"output_mode": "update", "topic": topic(name="other")})
    assert "to 4 stores" in planned(root, 4, other).lines[1]


@pytest.mark.parametrize("entry", ["offsets", "commits"])
def test_a_torn_entry_of_one_that_was_cut_off_leaves_a_way_on(root, entry):
    (written(root, 4) / entry / "3").write_text("v1\n{")
    doctor(SPEC, root.settings).execute()
    assert settled(root) == ""
    assert Checkpoint(root.paths.checkpoint).planned() == [0, 1, 2]
    assert root.rows == [0, 1, 2]
    assert "to 4 stores" in planned(root, 4).lines[1]


@pytest.mark.parametrize("noted", [False, True])
@pytest.mark.parametrize("accounted", [False, True])
def test_doctor_goes_back_behind_one_that_counts_with_a_torn_commit(root, *, noted, accounted):
    """Spark runs no such batch again."""
    written(root, 4)
    counts(root, 4, noted=noted)
    if accounted:
        root.account(NEWEST + 1, None)
        root.moved(audited=NEWEST + 1, judged=NEWEST + 1)
    (root.folder / "commits" / str(NEWEST + 1)).write_text("")
    doctor(SPEC, root.settings).execute()
    name_own(root.paths, Held())
    assert (number(root), root.rows) == (2, [0, 1, 2])
    assert "to 4 stores" in planned(root, 4).lines[1]


def test_a_rewind_and_doctor_take_a_batch_back_that_does_not_count(root):
    """Nobody has compared its state."""
    written(root, 4)
    execute = rewind(SPEC, root.settings, NEWEST + 1).execute
    assert execute is not None
    with fails(StateUnreadable, "state_incomplete"):
        execute()
    written(root, 4)
    (root.folder / "state" / "1" / "0" / f"{NEWEST + 1}_id.zip").unlink()
    doctor(SPEC, root.settings).execute()
    assert settled(root) == ""
    assert (number(root), Checkpoint(root.paths.checkpoint).planned()) == (2, [0, 1])


def test_a_rewind_to_one_that_counts_goes_on_in_its_stores(root):
    written(root, 4)
    counts(root, 4, noted=True)
    root.account(NEWEST + 1, None)
    root.moved(audited=NEWEST + 1, judged=NEWEST + 1)
    rewind(SPEC, root.settings, NEWEST + 1).execute()
    assert under_way(root.paths) is None
    assert number(root) == 4


@pytest.mark.parametrize("stores", [1, 4])
def test_a_missing_state_file_of_a_batch_before_is_told_as_without_a_repartition(root, stores):
    written(root, stores)
    counts(root, stores)
    gone = root.folder / "state" / "1" / "0" / "2_id.zip"
    gone.unlink()
    damage = Integrity(Checkpoint(root.paths.checkpoint)).damage
    assert {str(path): said for path, said in damage.items()} == {str(gone): "is missing"}


@pytest.mark.parametrize("stores", [1, 2, 4])
def test_state_that_spark_has_purged_in_one_store_is_not_told_as_missing(root, stores):
    """It purges each by its own count; a store that there is no more keeps what it had."""
    if stores != 2:
        written(root, stores)
        counts(root, stores)
    (root.folder / "state" / "1" / "1" / "1_id.zip").unlink()
    assert Integrity(Checkpoint(root.paths.checkpoint)).damage == {}


def test_a_note_of_an_older_sluice_is_refused_in_words(root):
    (root.paths.version / "repartitioning.json").write_text("{}")
    with fails(CheckpointBroken, "older_change"):
        planned(root, 4)


@pytest.mark.parametrize("number", [1, 4])
def test_the_state_of_batches_before_and_behind_can_be_read(root, number):
    written(root, number)
    counts(root, number)
    checkpoint = Checkpoint(root.paths.checkpoint)
    assert checkpoint.readable() == [0, 1, 2, 3]
    assert [checkpoint.partitions(batch) for batch in range(4)] == [2, 2, 2, number]


def test_a_rewind_goes_back_behind_it_and_to_the_stores_of_then(root):
    written(root, 4)
    counts(root, 4)
    root.account(NEWEST + 1, None)
    root.moved(audited=NEWEST + 1, judged=NEWEST + 1)
    rewind(SPEC, root.settings, 1).execute()
    assert root.identity.fingerprint[FIELD] == 2
    assert not any(path.endswith("v2/3") for path in files(root.folder))
    assert planned(root, 2).idle


def test_stores_that_there_are_no_more_do_not_keep_the_purge_from_its_work(root):
    """Their number of files does not grow."""
    written(root, 1)
    counts(root, 1)
    for batch in range(NEWEST + 2, NEWEST + 8):
        plan_batch(root.folder, batch, {0: 3}, topic="sales", partitions=1)
        keep(root, batch, 1)
    for batch in range(NEWEST + 6):
        for log in ("offsets", "commits"):
            (root.folder / log / str(batch)).unlink()
    assert purge(Checkpoint(root.paths.checkpoint), slack=4) > 0
    assert not [*root.folder.glob("state/*/1/*.zip")]


def test_a_change_that_no_batch_was_made_by_can_still_be_taken_back_behind_it(root):
    former = MadeBy.model_validate(root.identity)
    owner = root.identity.owner(SPEC.name)
    before = Before(made_by=former, committed=NEWEST, written=NEWEST)
    changed = {"fingerprint": former.fingerprint | {"output_mode": "update"}, "before": before}
    now = root.identity.model_copy(update=changed).of_repartition(4, root.paths)
    written(root, 4)
    now.write(root.paths.identity)
    known = read_identity(root.paths)
    assert known.before.in_force(root.paths, owner)
    made: Identity = known.of_newest_batch(root.paths)
    assert made.fingerprint == former.fingerprint | {FIELD: 4}


def test_a_change_that_batches_were_made_by_cannot_be_taken_back_behind_a_rewind_to_them(root):
    """Changed behind batch 1, drained to batch 2, repartitioned as batch 3, rewound to batch 2: its
    state is of the new spec.
    """
    former = MadeBy.model_validate(root.identity)
    before = Before(made_by=former, committed=1, written=1)
    changed = {"fingerprint": former.fingerprint | {"output_mode": "update"}, "before": before}
    now = root.identity.model_copy(update=changed).of_repartition(4, root.paths)
    written(root, 4)
    now.write(root.paths.identity)
    rewind(SPEC, root.settings, NEWEST).execute()
    made = root.identity.of_newest_batch(root.paths)
    assert made.fingerprint == former.fingerprint | {"output_mode": "update"}
