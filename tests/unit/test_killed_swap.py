"""A swap killed behind its commit: nothing after it says that the rows are not in the table."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.errors import ApprovalMissing, CheckpointBroken, StagingStale, SwapRefused
from spark_jobs.journal import runner
from spark_jobs.journal.runner import leased
from spark_jobs.ops import repairs
from spark_jobs.repair import undo
from spark_jobs.repair.exchange import exchange
from spark_jobs.repair.find.plan import digest
from spark_jobs.repair.manifest import Manifest, read_manifest
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import described, swap
from spark_jobs.repair.undo import reject
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.storage import failpoint
from spark_jobs.storage.folders import remove_folder
from spark_jobs.table import history
from tests.harness import roots
from tests.harness.listener import Listener
from tests.harness.refused import because, fails, has
from tests.harness.roots import ROOT
from tests.harness.turns import held_by
from tests.unit.repaired import DAY, SPEC, Changes, Root, again, row

pytestmark = held_by("simulation/test_simulation.py", "unit/test_swap.py")

WRONG: Changes = [(row(1, "a"), row(1, "a", 2)), (None, row(1, "d"))]
BEHIND = [place for place in failpoint.SWAP_POINTS if place != "swap.leased"]
WITHOUT_RANGES = SPEC.model_copy(update={"output_mode": "complete"})


class Scene(Root):
    """Batches 0 to 5 have passed, and a repair was staged, of which a person was asked."""

    @classmethod
    def made(cls, folder: Path) -> "Scene":
        made = cls(folder)
        made.drain(0, 5)
        made.staged("r1", WRONG)
        return made

    def staged(self, repair: str, changes: Changes):
        made = self.stage(repair, changes, approval="needed", approved_by="ada")
        known = {"pipeline": SPEC.name, "repair_id": repair, "generation": "g1"}
        staged = {"state": "staged", "staged_at": datetime.now(UTC)}
        repairs.put(self.paths.root, [known | described(made) | staged])

    def killed(self, patch: pytest.MonkeyPatch, place: str, do: str = "swap", each: str = "r1"):
        with patch.context() as active:
            active.setattr(failpoint, "ACTIVE", {place: "raise"})
            with pytest.raises(failpoint.Failure):
                getattr(self, do)(each)

    def killed_behind_its_commit(self, patch: pytest.MonkeyPatch, *, noted: bool):
        """Not `noted`: by a Sluice that had no journal."""
        self.killed(patch, "swap.committed")
        if not noted:
            self.paths.journal.unlink()

    def unanswered(self):
        """As the stage leaves it once it is cleared: nobody was asked of these rows yet."""
        path = self.paths.staging("r1") / "manifest.json"
        read_manifest(self.paths, "r1").model_copy(update={"approved_by": None}).write(path)

    def plan(self, spec_digest: str):
        spans = read_manifest(self.paths, "r1").spans
        of_this = {"spec_digest": spec_digest, "table_version": 6, "batch": 5, "horizon": {0: 6}}
        roots.repair_plan(SPEC.name, spans=spans, until=DAY, **of_this).store(self.paths)


@pytest.fixture
def scene(tmp_path) -> Scene:
    return again(Scene.made, tmp_path / ROOT)


def test_a_no_comes_too_late_and_the_swap_completes_the_record_without_a_yes(scene, monkeypatch):
    scene.killed(monkeypatch, "swap.committed")
    scene.unanswered()
    with fails(SwapRefused, "swap_begun", repair="r1"):
        reject(scene.paths, "r1", "bob")
    assert scene.states() == {"r1": "staged"}
    assert scene.swap("r1").passed
    assert (scene.states(), scene.merged()) == ({"r1": "swapped"}, [("r1", 7)])
    assert (scene.version, scene.cursor.judged_table_version) == (7, 7)
    scene.undo("r1")
    assert scene.rows() == scene.rows(6)
    with fails(SwapRefused, "repair_ended"):
        scene.swap("r1")


def test_a_repair_that_only_waits_keeps_no_other_out_whatever_has_become_of_it(scene):
    waits = {"pipeline": SPEC.name, "repair_id": "waits", "generation": "g1", "state": "staged"}
    repairs.put(scene.paths.root, [waits])
    (scene.paths.staging("waits") / "manifest.json").mkdir(parents=True)
    scene.swap("r1")
    assert scene.states() == {"r1": "swapped", "waits": "staged"}


def test_before_its_commit_a_no_counts_and_without_a_yes_nothing_is_swapped(scene, monkeypatch):
    scene.killed(monkeypatch, "swap.leased")
    scene.unanswered()
    with pytest.raises(ApprovalMissing):
        scene.swap("r1")
    reject(scene.paths, "r1", "bob")
    assert scene.states() == {"r1": "rejected"}
    with fails(SwapRefused, "answered_no"):
        scene.swap("r1")
    assert scene.version == 6


def test_a_no_counts_that_comes_between_the_swaps_look_and_its_note(scene, monkeypatch):
    begun = exchange.carry_out

    def declined(*of: Any):
        reject(scene.paths, "r1", "bob")
        begun(*of)

    monkeypatch.setattr(exchange, "carry_out", declined)
    with fails(SwapRefused, "answered_no"):
        scene.swap("r1")
    assert (scene.states(), scene.version) == ({"r1": "rejected"}, 6)


def no_beside_a_swap(scene: Scene, patch: pytest.MonkeyPatch, place: str):
    """Between the no's look and its note a swap begins, which is killed at this place."""
    write = Manifest.write

    def slowly(*of: Any):
        scene.killed(patch, place)
        write(*of)

    with patch.context() as within:
        within.setattr(Manifest, "write", slowly)
        with fails(SwapRefused, "swap_begun"):
            reject(scene.paths, "r1", "bob")


def test_of_a_no_and_a_swap_at_once_both_are_refused_and_the_no_stays(scene, monkeypatch):
    no_beside_a_swap(scene, monkeypatch, "change.begun")
    with fails(SwapRefused, "answered_no"):
        scene.swap("r1")
    assert (scene.states(), scene.version) == ({"r1": "rejected"}, 6)


def test_a_repair_that_a_no_came_too_late_for_is_undone_like_any(scene, monkeypatch):
    no_beside_a_swap(scene, monkeypatch, "swap.committed")
    assert scene.swap("r1").passed
    scene.undo("r1")
    assert (scene.states()["r1"], scene.rows()) == ("undone", scene.rows(6))


@pytest.mark.parametrize("place", BEHIND)
def test_a_cleared_stage_completes_the_record_and_computes_nothing(scene, monkeypatch, place):
    """Also where the spec has changed since, by which it could not compute."""
    scene.killed(monkeypatch, place)
    scene.plan("of another spec")
    problem = stage(SPEC, scene.settings, "again", "r1").problem
    because(problem, StagingStale, "repair_ended", state="swapped")
    assert (scene.states(), scene.merged()) == ({"r1": "swapped"}, [("r1", 7)])
    assert (scene.version, scene.cursor.judged_table_version) == (7, 7)


def test_a_stage_that_is_cleared_after_a_no_is_refused_by_whom_and_when(scene):
    scene.plan(digest(SPEC))
    reject(scene.paths, "r1", "bob")
    report = stage(SPEC, scene.settings, "again", "r1")
    answer = has(f"bob declined it at {datetime.now(UTC):%F}")
    because(report.problem, SwapRefused, "answered_no", answer=answer)
    assert read_manifest(scene.paths, "r1").rejected_by == "bob"


def test_a_repair_whose_spec_has_lost_its_ranges_is_refused_in_words(scene):
    why = unranged(WITHOUT_RANGES)
    assert why
    with fails(SwapRefused, "ranges_unsupported_now", why=why):
        swap(WITHOUT_RANGES, scene.settings.root, "r1", "swap")
    assert (scene.version, scene.states(), scene.merged()) == (6, {"r1": "staged"}, [])
    assert scene.swap("r1").table_version == 7, "the spec has them again"


@pytest.mark.parametrize("place", BEHIND)
def test_one_killed_behind_its_commit_is_completed_and_may_be_repeated(scene, monkeypatch, place):
    scene.killed(monkeypatch, place)
    for _ in range(2):
        assert swap(WITHOUT_RANGES, scene.settings.root, "r1", "swap").passed
        assert (scene.states(), scene.merged()) == ({"r1": "swapped"}, [("r1", 7)])
        assert (scene.version, scene.cursor.judged_table_version) == (7, 7)


def found_by(scene: Scene, repair_id: str):
    """Another repair of the ranges finds that the table has its rows."""
    horizon = {"horizon": '{"0": 6}', "staged_at": datetime.now(UTC), "state": "staged"}
    made = scene.stage(repair_id, [], read_manifest(scene.paths, "r1").spans)
    known = {"pipeline": SPEC.name, "repair_id": repair_id, "generation": "g1"}
    repairs.put(scene.paths.root, [known | described(made) | horizon])
    assert scene.swap(repair_id).state == "canonical"


@pytest.mark.parametrize("noted", [True, False])
def test_the_next_swap_completes_it_before_it_finds_the_rows_there(scene, monkeypatch, noted):
    """So that a rewind that takes the rows back lets their late record wait again."""
    scene.killed_behind_its_commit(monkeypatch, noted=noted)
    found_by(scene, "r2")
    assert scene.states() == {"r1": "swapped", "r2": "canonical"}
    assert scene.merged() == [("r1", 7)]
    rewind(SPEC, scene.settings, 5).execute()
    assert (scene.rows(), scene.states()) == (scene.rows(6), {"r1": "undone", "r2": "undone"})
    assert scene.merged() == [], "the late record waits again"


@pytest.mark.parametrize("noted", [True, False])
def test_a_drain_completes_it_so_that_the_next_event_has_the_repair(scene, monkeypatch, noted):
    listener = Listener()
    listener.publish(scene.paths, SPEC)
    scene.killed_behind_its_commit(monkeypatch, noted=noted)
    with leased(scene.paths, "a drain"):
        assert (scene.states(), scene.merged()) == ({"r1": "swapped"}, [("r1", 7)])
        scene.drain(6, 6)
    assert [each.repair_id for each in listener.publish(scene.paths, SPEC).repairs] == ["r1"]
    assert under_way(scene.paths) is None


@pytest.mark.parametrize("noted", [True, False])
def test_an_undo_completes_the_record_before_it_takes_the_rows_back(scene, monkeypatch, noted):
    """No command swaps in what a command has staged, so nothing else would."""
    scene.killed_behind_its_commit(monkeypatch, noted=noted)
    scene.undo("r1")
    assert scene.rows() == scene.rows(6)
    assert scene.states() == {"r1": "undone", "r1/undo": "swapped"}


@pytest.mark.parametrize("place", ["change.begun", "change.stepped", "swap.recorded"])
def test_two_of_a_sluice_without_a_journal_are_completed_though_the_first_one_is_killed_too(
    scene, monkeypatch, place
):
    scene.staged("r2", [(row(3, "a"), row(3, "a", 2))])
    with monkeypatch.context() as older:
        older.setattr(runner, "unnoted", lambda _: iter(()))
        for each in ("r1", "r2"):
            scene.killed(monkeypatch, "swap.committed", each=each)
            scene.paths.journal.unlink()
    with monkeypatch.context() as active:
        active.setattr(failpoint, "ACTIVE", {place: "raise"})
        with pytest.raises(failpoint.Failure), leased(scene.paths, "a drain"):
            pass
    with leased(scene.paths, "a drain"):
        assert scene.states() == {"r1": "swapped", "r2": "swapped"}


def test_a_no_to_one_of_a_sluice_without_a_journal_comes_too_late(scene, monkeypatch):
    scene.killed_behind_its_commit(monkeypatch, noted=False)
    with fails(SwapRefused, "swap_begun"):
        reject(scene.paths, "r1", "bob")
    with leased(scene.paths, "a drain"):
        assert scene.states() == {"r1": "swapped"}


def test_so_is_an_undo(scene, monkeypatch):
    scene.swap("r1")
    scene.killed(monkeypatch, "swap.committed", "undo")
    scene.paths.journal.unlink()
    with leased(scene.paths, "a drain"):
        assert scene.states() == {"r1": "undone", "r1/undo": "swapped"}
        assert scene.cursor.judged_table_version == 8


def test_a_checkpoint_without_its_identity_is_no_first_drain_and_what_was_left_is_not_given_up(
    scene, monkeypatch
):
    scene.killed_behind_its_commit(monkeypatch, noted=False)
    identity = scene.paths.identity.read_bytes()
    scene.paths.identity.unlink()
    with fails(CheckpointBroken, "identity_lost"), leased(scene.paths, "a drain"):
        pass
    scene.paths.identity.write_bytes(identity)
    with leased(scene.paths, "a drain"):
        assert scene.states() == {"r1": "swapped"}


def test_one_whose_staged_rows_are_gone_lets_nothing_pass_but_a_reset(scene, monkeypatch):
    scene.killed_behind_its_commit(monkeypatch, noted=False)
    remove_folder(scene.paths.staging("r1"))
    with fails(CheckpointBroken, "repair_unnoted"), leased(scene.paths, "a drain"):
        pass
    reset(SPEC, scene.settings).execute()
    assert scene.states() == {"r1": "staged"}


def test_without_one_a_log_is_read_once_and_only_where_a_repair_waits(scene, monkeypatch):
    read: list[object] = []
    ours = history.ours
    monkeypatch.setattr(undo.history, "ours", lambda path: read.append(path) or ours(path))
    for _ in range(2):
        with leased(scene.paths, "a drain"):
            pass
    assert len(read) == 1
    scene.swap("r1")
    scene.undo("r1")
    scene.paths.journal.unlink()
    read.clear()
    with leased(scene.paths, "a drain"):
        pass
    assert read == []
