"""`sluice doctor` over a checkpoint whose first batch was begun when the machine went down."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.checkpoint.identity import Present
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.standing import standing
from spark_jobs.cli import app
from spark_jobs.cli.terminal import NOT_DONE
from spark_jobs.registry import find as registry
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.storage.root.paths import Paths
from tests.unit.checkpoints import begin, plan_batch

NAME = "flight_events"


@pytest.fixture
def paths(tmp_path, monkeypatch) -> Paths:
    """A root with a checkpoint that has planned one batch."""
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:9092")
    spec = registry.load(NAME)
    made = Paths(str(tmp_path), spec)
    made.ensure_writable()
    standing(Present(spec), made).identity(
        SourceState("topic-1", Positions({0: 0}), Positions({0: 5}))
    ).write(made.identity)
    begin(Path(str(made.checkpoint)), {0: 0})
    plan_batch(made.checkpoint, 0, {0: 5})
    return made


def sluice(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["doctor", NAME, *words])
    return done.exit_code, " ".join(done.output.split())


def test_a_whole_checkpoint_has_nothing_to_fix(paths):
    status, said = sluice("--execute")
    assert status == 0
    assert "nothing to fix" in said


def test_it_is_shown_what_would_be_done_and_done_on_request(paths):
    torn = paths.checkpoint / "offsets" / "0"
    torn.write_text("")
    status, said = sluice()
    assert status == NOT_DONE
    assert "offsets/0 is empty" in said
    assert "batch 0 has no rows in the table, and Spark plans it again" in said
    assert "nothing is done yet: add --execute" in said
    assert torn.exists()
    assert sluice("--execute")[1].endswith("done")
    assert not torn.exists()
    assert len(list(paths.version.glob("damaged-*/offsets/0"))) == 1, "it is kept"
    assert "nothing to fix" in sluice()[1]


def test_the_first_batch_runs_again_where_its_commit_is_torn(paths):
    (paths.checkpoint / "commits" / "0").write_text("")
    assert "batch 0 runs again, for its state" in sluice()[1]
    assert sluice("--execute")[1].endswith("done")
    assert Checkpoint(paths.checkpoint).committed() == []


def test_failing_records_that_cannot_be_read_are_moved_aside_and_found_again(paths):
    paths.failing.write_text("{")
    assert f"move {paths.failing}" in sluice()[1]
    assert sluice("--execute")[1].endswith("done")
    assert read_failing(paths.failing).records == ()
    assert len(list(paths.version.glob("damaged-*/failing.json"))) == 1, "it is kept"
    assert "nothing to fix" in sluice()[1]


def test_what_no_repair_is_safe_for_is_one_line_with_its_code(paths):
    paths.identity.write_text("{")
    status, said = sluice("--execute")
    assert status == 37
    assert said.startswith("CHECKPOINT_BROKEN ")
    assert f"sluice reset {NAME}" in said


def test_a_pipeline_that_never_ran_has_no_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:9092")
    assert "there is no checkpoint" in sluice()[1]


@pytest.mark.parametrize("content", ["{", None])
def test_a_reset_needs_nothing_of_what_is_broken(paths, content):
    paths.identity.unlink()
    if content:
        paths.identity.write_text(content)
    done = CliRunner().invoke(app, ["reset", NAME, "--execute"])
    assert done.exit_code == 0, done.output
    assert "there is no checkpoint" in sluice()[1]
