"""A changed spec of a pipeline that has accepted nothing, over real tables and checkpoints."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spark_jobs.checkpoint.identity import Present, Superseded, read_identity, read_superseded
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.standing import standing
from spark_jobs.errors import StateIncompatible
from spark_jobs.journal.runner import leased
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import StateUse
from spark_jobs.ops import ops_tables
from spark_jobs.registry.fingerprint.topic import classification
from spark_jobs.runs import plan as planning
from spark_jobs.runs.resume.anew import anew_due, changed_spec
from spark_jobs.runs.resume.settlers import Scene
from spark_jobs.runs.upkeep import take_out_read_again
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Pipeline
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from tests.harness.sources import says
from tests.unit.checkpoints import commit_batch, plan_batch
from tests.unit.drains import SPEC, Drains

TOPIC = SPEC.topic
RENAMED = SPEC.model_copy(
    update={
        "topic": TOPIC.model_copy(
            update={
                "fields": tuple(
                    field.model_copy(update={"name": "total"}) if field.name == "amount" else field
                    for field in TOPIC.fields
                )
            }
        )
    }
)
"""As SPEC, and the producer's name of a field."""
LOOSER = SPEC.model_copy(
    update={
        "topic": TOPIC.model_copy(
            update={
                "fields": tuple(
                    field.model_copy(update={"required": not field.required})
                    for field in TOPIC.fields
                )
            }
        )
    }
)
IN_VAIN = Account(covered=10, read=10, malformed=9, filtered=1)


class Vain(Drains):
    """Batches of ten records each, of which none was accepted. The table has no row."""

    def __init__(self, folder: Path, spec: Pipeline = SPEC, generation: str = "g1"):
        super().__init__(folder, spec, generation)
        known = self.identity.model_copy(update={"classification": classification(spec)})
        known.write(self.paths.identity)

    def batch(self, number: int, account: Account = IN_VAIN):
        plan_batch(self.folder, number, {0: 10 * (number + 1)}, topic="sales")
        commit_batch(self.folder, number)
        row = {"pipeline": SPEC.name, "generation": self.identity.generation, "batch_id": number}
        row |= {"offsets_start": json.dumps({"0": 10 * number})}
        row |= {"offsets_end": json.dumps({"0": 10 * (number + 1)})}
        ops_tables.append(self.paths.root, "batches", [row | account.row()])
        self.cursor.model_copy(update={"audited": number}).write(self.paths.cursor)


@pytest.fixture
def vain(tmp_path, monkeypatch) -> Vain:
    says(monkeypatch, SourceState("topic-1", Positions({0: 0}), Positions({0: 20})))
    made = Vain(tmp_path)
    for number in (0, 1):
        made.batch(number)
    return made


def begin(made: Vain, spec: Pipeline = RENAMED) -> tuple[str, ...]:
    made.paths = Paths(made.settings.root, spec)
    with leased(made.paths, "run") as held:
        lines = changed_spec(Scene(Present(spec), made.paths, held, "drain"))
    made.paths = Paths(made.settings.root, spec)
    return lines


@pytest.mark.parametrize("spec", [RENAMED, LOOSER], ids=["another field", "other requirements"])
def test_a_plan_says_that_the_changed_spec_begins_anew_and_a_run_does_it(vain, spec):
    [reason] = planning.plan(spec, vain.settings).reasons
    assert "none of the 20 records that were read is accepted" in reason
    assert read_superseded(vain.paths) is None, "a plan writes nothing"
    assert begin(vain, spec)[0] == reason
    assert (vain.paths.identity.exists(), vain.paths.table.exists()) == (False, False)
    assert vain.paths.version.exists(), "the run stores its identity there"
    assert (vain.paths.above / "v1" / "identity.json").exists()
    rows = ops_tables.query(vain.paths.root, "batches", "SELECT malformed FROM batches")
    assert rows["malformed"].to_pylist() == [9, 9], "what was read stays accounted for"
    assert read_cursor(vain.paths.cursor).audited == -1
    fresh = standing(Present(spec), vain.paths).identity(
        SourceState("topic-1", Positions({0: 0}), Positions({0: 20}))
    )
    assert fresh.generation != "g1"
    assert planning.plan(spec, vain.settings).new_offsets == 20
    assert begin(vain, spec) == ()


def test_without_a_change_nothing_begins_anew(vain):
    assert begin(vain, SPEC) == ()
    assert read_identity(vain.paths) == vain.identity


@pytest.mark.parametrize("planned", [False, True])
def test_a_checkpoint_that_has_read_nothing_begins_anew(tmp_path, monkeypatch, *, planned):
    """A run was killed in its first batch, or found no record."""
    says(monkeypatch, SourceState("topic-1", Positions({0: 0}), Positions({0: 20})))
    made = Vain(tmp_path)
    if planned:
        plan_batch(made.folder, 0, {0: 10}, topic="sales")
    assert "none of the 0 records" in begin(made)[0]
    assert not made.paths.identity.exists()
    assert planning.plan(RENAMED, made.settings).new_offsets == 20


def accepted(made: Vain):
    made.batch(2, Account(covered=10, read=10, malformed=9, accepted=1))


def unknown(made: Vain):
    made.batch(2, Account(covered=10, read=9, unknown=1, malformed=9))


def has_state(made: Vain):
    made.cursor.model_copy(update={"state": StateUse(rows=1)}).write(made.paths.cursor)


def has_a_row(made: Vain):
    made.commit(2)
    made.batch(2)


def killed_before_its_commit(made: Vain):
    made.commit(2)
    (made.folder / "commits" / "2").unlink()


def has_no_account(made: Vain):
    plan_batch(made.folder, 2, {0: 30}, topic="sales")
    commit_batch(made.folder, 2)


def lost_an_account(made: Vain):
    ops_tables.remove(made.paths.root, "batches", "batch_id = 0")


@pytest.mark.parametrize(
    "something",
    [
        accepted, unknown, has_state, has_a_row, killed_before_its_commit, has_no_account,
        lost_an_account,
    ],
    ids=lambda each: each.__name__,
)  # fmt: skip
def test_what_may_have_come_of_the_records_is_protected_as_ever(vain, something):
    something(vain)
    assert anew_due(Present(RENAMED), vain.paths) is None
    assert begin(vain) == ()
    with pytest.raises(StateIncompatible):
        planning.plan(RENAMED, vain.settings)


@pytest.mark.parametrize("at", ["change.begun", "change.stepped"])
def test_a_run_that_is_killed_in_between_is_gone_on_with(vain, monkeypatch, at):
    with monkeypatch.context() as active:
        active.setattr(failpoint, "ACTIVE", {at: "raise"})
        for _ in range(2):
            with pytest.raises(failpoint.Failure):
                begin(vain)
            [reason] = planning.plan(RENAMED, vain.settings).reasons
            assert "has not ended: the run completes it" in reason
            active.setattr(failpoint, "ACTIVE", {"change.stepped": "raise"})
    begin(vain)
    assert (vain.paths.identity.exists(), vain.paths.table.exists()) == (False, False)
    assert read_superseded(vain.paths).generations == ("g1",)


def test_a_second_change_in_vain_supersedes_both_generations(vain):
    begin(vain)
    again = Vain(Path(vain.settings.root), RENAMED, "g2")
    again.batch(0)
    begin(again, SPEC)
    assert read_superseded(vain.paths).generations == ("g1", "g2")


OLD = Superseded(generations=("g0",), topic_id="topic-1")


def rejected(made: Vain, generation: str, *offsets: int):
    own = {"pipeline": SPEC.name, "generation": generation, "batch_id": 0, "partition": 0}
    rows = [own | {"offset": offset, "kind": "malformed"} for offset in offsets]
    ops_tables.append(made.paths.root, "quarantine", rows)


def left(made: Vain) -> set[tuple[str, int]]:
    found = ops_tables.query(
        made.paths.root, "quarantine", 'SELECT generation, "offset" FROM quarantine'
    ).to_pylist()
    return {(row["generation"], row["offset"]) for row in found}


def superseding(made: Vain, note: Superseded, until: int) -> Any:
    """A run of g1 over a root where g0 had read up to `until`."""
    note.write(made.paths.superseded)
    row = {"pipeline": SPEC.name, "generation": "g0", "batch_id": 0}
    row |= {"offsets_start": '{"0": 0}', "offsets_end": json.dumps({"0": until})}
    ops_tables.append(made.paths.root, "batches", [row | IN_VAIN.row()])
    rejected(made, "g0", 3, 4, 25)
    rejected(made, "g1", 3)
    known = read_identity(made.paths)
    held = SimpleNamespace(confirm=lambda: None, path=made.paths.lease)
    return SimpleNamespace(spec=SPEC, paths=made.paths, identity=known, lease=held)


def test_what_is_read_again_is_in_quarantine_once_and_the_rest_stays_until_it_is(vain):
    run = superseding(vain, OLD, until=30)
    take_out_read_again(run)
    assert left(vain) == {("g0", 25), ("g1", 3)}
    assert read_superseded(vain.paths) is not None, "offsets 20 to 29 are not read again yet"
    vain.batch(2)
    take_out_read_again(run)
    assert left(vain) == {("g1", 3)}
    assert read_superseded(vain.paths) is None


def test_where_kafka_has_records_no_longer_only_what_is_kept_again_goes(vain):
    run = superseding(vain, OLD, until=20)
    vain.batch(2, Account(covered=10, gaps=1, removed=1, read=9, malformed=9))
    take_out_read_again(run)
    assert left(vain) == {("g0", 4), ("g0", 25), ("g1", 3)}


def test_of_a_value_with_many_records_nothing_goes_while_one_of_them_is_not_kept_again(vain):
    """Its bytes are with one of them, maybe with that one."""
    run = superseding(vain, OLD, until=20)
    own = {"pipeline": SPEC.name, "batch_id": 0, "partition": 0, "kind": "malformed"}
    elements = [("g0", 5, 0), ("g0", 5, 2), ("g1", 5, 2), ("g0", 6, 1), ("g1", 6, 1)]
    made = [own | {"generation": g, "offset": o, "element": e} for g, o, e in elements]
    ops_tables.append(vain.paths.root, "quarantine", made)
    vain.batch(2, Account(covered=10, gaps=1, removed=1, read=9, malformed=9))
    take_out_read_again(run)
    assert left(vain) == {
        ("g0", 4), ("g0", 25), ("g1", 3), ("g0", 5), ("g1", 5), ("g1", 6)}  # fmt: skip


def test_the_offsets_of_another_topic_are_other_records(vain):
    run = superseding(vain, OLD.model_copy(update={"topic_id": "topic-0"}), until=30)
    take_out_read_again(run)
    assert left(vain) == {("g0", 3), ("g0", 4), ("g0", 25), ("g1", 3)}
    assert read_superseded(vain.paths) is None


def test_a_run_that_was_killed_before_it_took_them_out_leaves_work_for_the_next(vain):
    run = superseding(vain, OLD, until=20)
    reasons = planning.plan(SPEC, vain.settings).reasons
    assert "rejected records of before the spec changed are not taken out yet" in reasons
    take_out_read_again(run)
    assert reasons[-1] not in planning.plan(SPEC, vain.settings).reasons
