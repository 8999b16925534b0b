"""A change that fails in its first try: taken back at once, or gone on with if step one is done."""

import pytest

from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.errors import CheckpointBroken, LeaseLost, SwapRefused
from spark_jobs.journal import runner
from spark_jobs.journal.change import Change, Facts, Scene
from spark_jobs.journal.runner import CHANGES, carry_out, complete, leased, settle
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.unit.checkpoints import Alone
from tests.unit.repaired import Root, row
from tests.unit.specs import pipeline


class Writes(Facts):
    """Two files."""

    fails_in: str = ""


class Refused(Exception):
    """Whatever a step raises."""


def first(facts: Writes, scene: Scene):
    (scene.paths.version / "first").write_text("")
    if facts.fails_in == "first":
        raise Refused


def second(facts: Writes, scene: Scene):
    if facts.fails_in == "second" and scene.prepared:
        raise Refused
    (scene.paths.version / "second").write_text("")


def take_back(facts: Writes, scene: Scene):
    del facts
    (scene.paths.version / "first").unlink(missing_ok=True)


MADE = Change("made", Writes, lambda _: "a test's change", (first, second), take_back=take_back)


@pytest.fixture
def root(tmp_path, monkeypatch) -> Root:
    monkeypatch.setitem(CHANGES, "made", f"{__name__}:MADE")
    return Root(tmp_path / ROOT)


def written(root: Root) -> set[str]:
    return {path.name for path in root.paths.version.iterdir()} & {"first", "second"}


def tried(root: Root, fails_in: str):
    with leased(root.paths, "a test") as held:
        with pytest.raises(Refused):
            carry_out(MADE, Writes(fails_in=fails_in), root.paths, held, "a test", prepared=True)
        if under_way(root.paths):
            with fails(LeaseLost, "change_elsewhere"):
                carry_out(MADE, Writes(), root.paths, held, "beside it")


def test_one_that_fails_in_its_first_step_is_taken_back_at_once(root):
    tried(root, "first")
    assert (written(root), under_way(root.paths)) == (set(), None)


def test_one_that_fails_behind_its_first_step_is_completed_by_whoever_comes_next(root):
    tried(root, "second")
    note = under_way(root.paths)
    assert (written(root), note.done) == ({"first"}, ("first",))
    with leased(root.paths, "the next"):
        assert (written(root), under_way(root.paths)) == ({"first", "second"}, None)


def killed_before_its_first_step(root: Root, patch: pytest.MonkeyPatch):
    with patch.context() as active, leased(root.paths, "a test") as held:
        active.setitem(failpoint.ACTIVE, "change.begun", "raise")
        with pytest.raises(failpoint.Failure):
            carry_out(MADE, Writes(), root.paths, held, "a test")


def test_one_killed_before_its_first_step_is_taken_back_by_whoever_comes_next(root, monkeypatch):
    killed_before_its_first_step(root, monkeypatch)
    (root.paths.version / "first").write_text("")
    with leased(root.paths, "the next"):
        assert (written(root), under_way(root.paths)) == (set(), None)


@pytest.mark.parametrize("lands", [False, True])
def test_whoever_comes_next_believes_that_a_step_has_no_effect_once_the_table_takes_none(
    root, monkeypatch, lands
):
    """Who began it may sleep before its commit, which `lands` before the fence."""
    answers, version = iter([False, lands]), root.version
    change = MADE._replace(take_back=None, stands=lambda *_: next(answers))
    monkeypatch.setattr(f"{__name__}.MADE", change)
    killed_before_its_first_step(root, monkeypatch)
    behind = Alone()
    behind.fence = 1  # as an object store has it
    complete(root.paths, behind)  # type: ignore[arg-type]
    assert written(root) == ({"first", "second"} if lands else set())
    assert root.version == version + 1


def test_the_first_try_needs_no_fence_of_the_table(root, monkeypatch):
    version = root.version
    monkeypatch.setattr(f"{__name__}.MADE", MADE._replace(take_back=None, stands=lambda *_: False))
    tried(root, "first")
    assert (under_way(root.paths), root.version) == (None, version)


@pytest.mark.parametrize("others", ["0", "z"])
def test_another_ones_note_is_not_taken_back(root, monkeypatch, others):
    def overtaken(*_):
        under_way(root.paths).model_copy(update={"id": others}).write(root.paths.journal)
        raise Refused

    monkeypatch.setattr(f"{__name__}.MADE", MADE._replace(steps=(overtaken,)))
    tried(root, "")
    assert under_way(root.paths).id == others


@pytest.mark.parametrize("version", ["v0", "v9"])
def test_one_of_another_state_version_is_refused_in_words(root, version):
    tried(root, "second")
    under_way(root.paths).model_copy(update={"version": version}).write(root.paths.journal)
    with fails(CheckpointBroken, "change_of_version", version=version):
        settle(root.paths, "the next")


def test_nothing_is_taken_back_without_the_lease(root):
    class Lost:
        fence = 0

        def confirm(self):
            if under_way(root.paths):
                raise LeaseLost("it is another's")

    with pytest.raises(LeaseLost):
        carry_out(MADE, Writes(), root.paths, Lost(), "a test")  # type: ignore[arg-type]
    assert under_way(root.paths) is not None
    with pytest.raises(LeaseLost):
        complete(root.paths, Lost())  # type: ignore[arg-type]
    assert under_way(root.paths) is not None


def test_a_swap_that_the_table_refuses_leaves_no_note(root):
    root.drain(0, 2)
    root.table.alter.add_constraint({"few": "sales < 2"})
    root.stage("r1", [(row(1, "a"), row(1, "a", 2))])
    with fails(SwapRefused, "rows_refused"):
        root.swap("r1")
    assert under_way(root.paths) is None
    assert root.states() == {}


def test_without_a_checkpoint_nobody_looks_for_what_a_sluice_without_a_journal_left(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(runner, "_imported", None)  # it would load the repairs
    paths = Paths(str(tmp_path), pipeline())
    assert not [*runner.unnoted(paths)]
    assert not settle(paths, "who looks before the lease")
    paths.identity.parent.mkdir(parents=True)
    paths.identity.write_text("{}")
    with fails(CheckpointBroken, "identity_lost"):
        next(runner.unnoted(paths))
