"""`sluice validate --against`: a repository of git with pipelines, before and after a change."""

import subprocess
import uuid
from pathlib import Path

import pytest

from spark_jobs.contracts.at_commit import at_commit
from spark_jobs.contracts.contract import side
from spark_jobs.errors import CommitUnreadable, ContractBroken
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import REPO
from tests.harness.refused import fails
from tests.unit.test_cli import refused, sluice

SPEC = """\
from tests.unit.specs import aggregate, deduplicate, pipeline
from {package}.shared import DELAY

SPEC = pipeline(
    name={name!r},
    watermark_delay=DELAY,
    steps=(deduplicate(), aggregate(measures={{"sales": "count(*)", {measure}}})),
)
"""
TURNOVER, LARGEST = '"turnover": "sum(amount)"', '"largest": "max(amount)"'


class Repository:
    """A clone whose folder `etl` is on the path."""

    def __init__(self, folder: Path, package: str) -> None:
        self.folder, self.package = folder, package
        self.write("__init__.py", "")
        self.write("shared.py", 'DELAY = "2 hours"\n')
        self.git("init", "-q", "-b", "main")

    def write(self, file: str, text: str) -> None:
        path = self.folder / "etl" / self.package / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def spec(self, name: str, measure: str = TURNOVER) -> None:
        self.write(f"{name}/__init__.py", "")
        text = SPEC.format(package=self.package, name=name, measure=measure)
        self.write(f"{name}/spec.py", text)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "as it is")

    def git(self, *words: str) -> None:
        subprocess.run(["git", "-C", str(self.folder), *words], check=True)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    made = Repository(tmp_path / "clone", f"deployed_{uuid.uuid4().hex[:6]}")
    monkeypatch.syspath_prepend(str(made.folder / "etl"))
    monkeypatch.setenv("SLUICE_PIPELINES", made.package)
    return made


def test_a_working_tree_is_held_against_what_a_commit_has(repository):
    for name in ("hourly", "weekly", "gone"):
        repository.spec(name)
    repository.commit()
    repository.spec("hourly", LARGEST)
    repository.spec("new")
    repository.git("rm", "-rq", "--cached", ".")
    (repository.folder / "etl" / repository.package / "gone/spec.py").unlink()
    done = sluice("validate", "--against", "main")
    assert "state, consumers of gone, hourly" in refused(done, ContractBroken)
    told = {line.split(",")[0] for line in done.stdout.splitlines() if ", since main" in line}
    assert told == {"gone", "hourly", "new"}
    accepted = ("--accept", "state", "--accept", "consumers")
    assert sluice("validate", "--against", "main", *accepted).exit_code == 0
    assert sluice("validate", "weekly", "--against", "main").exit_code == 0


def test_what_specs_share_is_as_the_commit_has_it_in_a_hook_of_git_too(
    repository, monkeypatch, tmp_path
):
    repository.spec("hourly")
    repository.commit()
    repository.write("shared.py", 'DELAY = "3 hours"\n')
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.setenv(name, str(tmp_path / "another"))
    [before] = at_commit("HEAD").sides.values()
    assert before.spec is not None
    assert before.spec.fingerprint["watermark_delay"] == "2:00:00"
    assert side("hourly").spec.fingerprint["watermark_delay"] == "3:00:00"


def test_a_commit_without_the_folder_has_no_pipelines_and_one_that_does_not_load_is_unknown(
    repository,
):
    (repository.folder / "README").touch()
    repository.git("add", "README")
    repository.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first")
    repository.spec("hourly")
    assert at_commit("main").sides == {}
    repository.write("hourly/spec.py", "SPEC = 1 / 0\n")
    repository.commit()
    repository.spec("hourly")
    done = sluice("validate", "--against", "main")
    assert "unknown of hourly" in refused(done, ContractBroken)
    assert "ZeroDivisionError" in done.stdout


def test_a_folder_that_was_renamed_or_that_git_ignores_is_not_new(repository):
    repository.spec("hourly")
    repository.commit()
    was = repository.package
    renamed = repository.folder / "etl" / f"{was}_2"
    (repository.folder / "etl" / was).rename(renamed)
    (repository.folder / "etl" / f"{was}").symlink_to(renamed.name)
    file = f"etl/{was}/hourly/spec.py"
    with fails(CommitUnreadable, "elsewhere", ref="HEAD", folder=f"etl/{was}_2", file=file):
        at_commit("HEAD")
    (repository.folder / ".gitignore").write_text("*_2\n")
    with fails(CommitUnreadable, "ignored", ref="HEAD"):
        at_commit("HEAD")


def test_no_hook_runs_and_only_folders_of_the_path_are_written(repository, tmp_path, monkeypatch):
    repository.spec("hourly")
    (repository.folder / "large").mkdir()
    (repository.folder / "large" / "file").touch()
    repository.commit()
    hook = repository.folder / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    looks = "from pathlib import Path\nlarge = (Path(__file__).parents[3] / 'large').exists()\n"
    spec = (repository.folder / "etl" / repository.package / "hourly/spec.py").read_text()
    repository.write("hourly/spec.py", f"{looks}assert not large\n{spec}")
    repository.commit()
    (tmp_path / "ran").unlink(missing_ok=True)
    monkeypatch.chdir(tmp_path)
    assert at_commit("HEAD").sides["hourly"].error == ""
    assert not (tmp_path / "ran").exists()


def test_what_git_does_not_know_is_refused(repository, tmp_path, monkeypatch):
    repository.spec("hourly")
    repository.commit()
    with fails(CommitUnreadable, "unknown", ref="nowhere"):
        at_commit("nowhere")
    (tmp_path / "clone" / ".git").rename(tmp_path / "elsewhere")
    with fails(
        CommitUnreadable, "no_repository", folder=repository.folder / "etl" / repository.package
    ):
        at_commit("main")


def test_sluices_own_pipelines_and_topics_are_those_of_the_commit():
    if not (REPO / ".git").exists():
        pytest.skip("no clone: not tested is that a clone's own pipelines are held against")
    found = at_commit("HEAD").sides
    assert {*found} >= {*registry.names()}
    assert not any(each.error for each in found.values())
