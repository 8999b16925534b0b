"""A change that fails in its first try: taken back at once, or gone on with if step one is done."""

import pytest

from spark_jobs.errors import CheckpointBroken, LeaseLost, SwapRefused
from spark_jobs.journal import runner
from spark_jobs.journal.change import Change, Facts, Scene, under_way
from spark_jobs.journal.runner import CHANGES, carry_out, complete, leased
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails
from tests.harness.roots import ROOT
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
    with leased(root.paths, "a test") as held, pytest.raises(Refused):
        carry_out(MADE, Writes(fails_in=fails_in), root.paths, held, "a test", prepared=True)


def test_one_that_fails_in_its_first_step_is_taken_back_at_once(root):
    tried(root, "first")
    assert (written(root), under_way(root.paths)) == (set(), None)


def test_one_that_fails_behind_its_first_step_is_completed_by_whoever_comes_next(root):
    tried(root, "second")
    note = under_way(root.paths)
    assert (written(root), note.done) == ({"first"}, ("first",))
    with leased(root.paths, "the next"):
        assert (written(root), under_way(root.paths)) == ({"first", "second"}, None)


def test_one_killed_before_its_first_step_is_taken_back_by_whoever_comes_next(root, monkeypatch):
    with monkeypatch.context() as active, leased(root.paths, "a test") as held:
        active.setitem(failpoint.ACTIVE, "change.begun", "raise")
        with pytest.raises(failpoint.Failure):
            carry_out(MADE, Writes(), root.paths, held, "a test")
    (root.paths.version / "first").write_text("")
    with leased(root.paths, "the next"):
        assert (written(root), under_way(root.paths)) == (set(), None)


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
    paths.identity.parent.mkdir(parents=True)
    paths.identity.write_text("{}")
    with fails(CheckpointBroken, "identity_lost"):
        next(runner.unnoted(paths))
