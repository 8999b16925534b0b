"""Which version of a table beside the stream a batch has: noted before it is planned, kept while it
may run again, and taken along by what copies a checkpoint.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from upath import UPath

from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.branch import branch
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.noted_versions import note
from spark_jobs.errors import LeaseLost, SideGone, SpecInvalid
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.repair.find.lost import refuse_unreachable
from spark_jobs.side.pins import inputs_of, pin
from spark_jobs.storage.pin import Pin, as_json
from tests.harness.refused import fails
from tests.harness.roots import repair_plan
from tests.unit.beside import LookUp, Numbered
from tests.unit.checkpoints import Alone, begin, commit_batch, plan_batch
from tests.unit.drains import SPEC, Drains
from tests.unit.specs import aggregate, pipeline


class Made:
    """A checkpoint, and a pipeline with a table beside its stream."""

    def __init__(self, folder: Path) -> None:
        self.file, self.folder = folder / "customers", begin(folder / "spark")
        self.has("1", 0, 7)
        self.checkpoint = Checkpoint(self.folder)
        self.spec = with_tables(Numbered(name="customers", path=str(self.file)))

    def has(self, id_: str, first: int, last: int) -> None:
        self.file.write_text(json.dumps((id_, first, last)))

    def pinned(self, in_table: int = -1, held: Alone | None = None) -> int:
        found = pin(self.checkpoint, lambda: in_table, self.spec, None)
        note(found, self.checkpoint, held or Alone())
        return found.inputs["customers"].version

    def of(self, batch: int) -> int:
        return inputs_of(batch, self.checkpoint, self.spec, None)["customers"].version

    def batch(self, number: int) -> None:
        plan_batch(self.folder, number, {0: number + 1})
        commit_batch(self.folder, number)

    @property
    def notes(self) -> set[str]:
        folder = self.folder / "inputs"
        return {file.name for file in folder.iterdir()} if folder.exists() else set()


def with_tables(*tables: Numbered):
    return pipeline(steps=(LookUp(tables=tables), aggregate()))


@pytest.fixture
def made(tmp_path) -> Made:
    return Made(tmp_path)


ACTIONS = ("another version", "run", "plan", "write", "commit")


@given(st.lists(st.sampled_from(ACTIONS), max_size=40))
def test_table_and_state_of_a_batch_have_one_version_whatever_is_killed(tmp_path_factory, actions):
    """`run` begins where one before it was killed."""
    made, newest, pinned = Made(tmp_path_factory.mktemp("pins")), 7, None
    rows: dict[int, int] = {}
    committed, planned = -1, False
    for action in actions:
        match action:
            case "another version":
                made.has("1", 0, newest := newest + 1)
            case "run":
                pinned = made.pinned(max(rows, default=-1))
                assert pinned == rows.get(committed + 1, newest)
            case "plan" if pinned is not None:
                plan_batch(made.folder, committed + 1, {0: committed + 2})
                planned = True
            case "write" if pinned is not None and planned:
                rows.setdefault(committed + 1, pinned)
            case "commit" if planned and pinned is not None and committed + 1 in rows:
                assert rows[committed + 1] == pinned  # its state is computed by this run
                commit_batch(made.folder, committed := committed + 1)
                planned = False
    assert {batch: made.of(batch) for batch in range(committed + 1)} == {
        batch: version for batch, version in rows.items() if batch <= committed
    }


def test_a_run_without_another_version_writes_no_note(made):
    assert made.pinned() == 7
    made.batch(0)
    assert made.pinned() == made.of(5) == 7
    assert made.notes == {"0"}


def test_a_pipeline_without_such_a_table_has_no_note(made):
    found = pin(made.checkpoint, None, pipeline(), None)
    note(found, made.checkpoint, Alone())
    assert found == ({}, {}, -1)
    assert inputs_of(3, made.checkpoint, pipeline(), None) == {}
    assert not (made.folder / "inputs").exists()


class Lost(Alone):
    def confirm(self) -> None:
        raise LeaseLost("it is another's")


def test_who_has_lost_the_lease_notes_nothing(made):
    with pytest.raises(LeaseLost):
        made.pinned(held=Lost())
    assert made.notes == set()


@pytest.mark.parametrize("now", [("1", 8, 9), ("2", 0, 9)], ids=["vacuumed", "made anew"])
def test_a_batch_whose_version_is_gone_is_refused_and_no_other_takes_its_place(made, now):
    made.pinned()
    made.has(*now)
    gone = {"pipeline": "sales_hourly", "batch": 0, "side": "customers", "version": 7}
    with fails(SideGone, "of_batch", **gone):
        made.of(0)
    with fails(SideGone, "of_batch", **gone):
        made.pinned(in_table=0)  # state and table must agree
    assert made.pinned() == 9  # without an effect it is planned anew


def test_a_batch_of_which_nothing_is_noted_is_refused(made):
    with fails(SideGone, "unnoted", batch=4, side="customers", folder=made.folder / "inputs"):
        made.of(4)


def test_of_a_torn_note_no_older_one_takes_the_place(made):
    made.pinned()
    made.batch(0)
    made.has("1", 0, 8)
    made.pinned()
    (made.folder / "inputs" / "1").write_text("{")
    with fails(SideGone, "unnoted", batch=1):
        made.of(1)
    assert made.of(0) == 7
    assert made.pinned() == made.of(1) == 8


def test_notes_of_batches_that_spark_has_forgotten_go(made):
    for batch in range(4):
        made.has("1", 0, 7 + batch)
        made.pinned()
        made.batch(batch)
    for batch in (0, 1):
        (made.folder / "offsets" / str(batch)).unlink()
    made.has("1", 0, 20)
    made.pinned()
    assert made.notes == {"2", "3", "4"}
    assert [made.of(batch) for batch in (2, 3, 4)] == [9, 10, 20]


def test_a_copy_of_a_checkpoint_has_the_notes_up_to_that_of_the_next_batch(made, tmp_path):
    for batch in range(3):
        made.has("1", 0, 7 + batch)
        made.pinned()
        made.batch(batch)
    branch(made.folder, new := UPath(tmp_path / "branched"), 1, lambda: None)
    assert {file.name for file in (new / "inputs").iterdir()} == {"0", "1", "2"}
    copied = Checkpoint(new)
    assert inputs_of(1, copied, made.spec, None)["customers"].version == 8
    assert pin(copied, lambda: 1, made.spec, None).inputs["customers"].version == 9


def test_a_rewind_takes_the_notes_of_what_it_keeps(tmp_path):
    root = Drains(tmp_path / "root")
    root.drain(0, 4)
    (notes := root.paths.checkpoint / "inputs").mkdir()
    for batch in (0, 2, 3, 4):
        (notes / str(batch)).write_text("{}")
    rewind(SPEC, root.settings, 2).execute()
    assert {file.name for file in (root.paths.checkpoint / "inputs").iterdir()} == {"0", "2", "3"}
    assert root.paths.checkpoint != notes.parent


def test_a_repair_reads_the_version_that_its_plan_names_or_none(made):
    seven = Pin(table_id="1", version=7)
    plan = repair_plan("sales_hourly", inputs={"customers": seven}, parts={}, repair_id="r")
    made.has("1", 7, 9)
    refuse_unreachable(made.spec, None, plan)
    made.has("1", 8, 9)
    with fails(SideGone, "of_repair", repair="r", side="customers", version=7):
        refuse_unreachable(made.spec, None, plan)
    assert json.loads(as_json(plan.inputs)) == {"customers": {"table_id": "1", "version": 7}}
    assert as_json({}) is None


def test_a_fingerprint_has_the_names_of_the_tables_that_a_step_reads(made):
    assert fingerprint(made.spec, "4.2.0")["steps[0].sides"] == ["customers"]
    assert not [name for name in fingerprint(pipeline(), "4.2.0") if name.endswith("sides")]


def test_two_tables_of_one_name_are_refused(made):
    one, other = (Numbered(name="customers", path=path) for path in ("a", "b"))
    assert [side.name for side in with_tables(one, one).sides] == ["customers"]
    with fails(SpecInvalid, "fields_refused", fields="steps"):
        with_tables(one, other)
