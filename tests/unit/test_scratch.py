"""The folder of a JVM: for whom it is, how long it stays, and what the JVM is told of it."""

import ast
import errno
import fcntl
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.errors import SettingInvalid
from spark_jobs.launch import foreground
from spark_jobs.launch.scratch import FOLDERS, Scratch, has_sockets, remove_own, scratch
from spark_jobs.proof import pytest_plugin
from spark_jobs.settings.installation import REPO
from tests.harness.nobody import as_nobody, needs_two_users
from tests.harness.refused import fails

WRITES = "import os, pathlib; pathlib.Path(os.environ['SPARK_LOCAL_DIRS'], 'rows').touch()"
STARTS = {"Popen", "run", "call", "check_call", "check_output"}
WITHOUT_SPARK = {"contracts/at_commit", "install/environment"}
WITHOUT_SPARK |= {"decode/schemas/protoc"}
"""Files that start git, pip, Maven, Java or protoc."""


@pytest.fixture
def temporary(monkeypatch) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@pytest.fixture
def home(temporary) -> Path:
    return temporary / f"sluice-scratch-{os.getuid()}"


def properties(made: Scratch) -> dict[str, str]:
    words = shlex.split(made.variables["SPARK_SUBMIT_OPTS"])
    return dict(word.removeprefix("-D").split("=", 1) for word in words)


def test_only_its_user_may_enter_it_and_nothing_is_left_of_a_jvm_that_has_ended(home):
    with scratch({}) as made:
        folder = Path(made.variables["SPARK_LOCAL_DIRS"])
        assert folder.parent == home
        assert {each.stat().st_mode & 0o077 for each in (home, folder)} == {0}
        (folder / "blockmgr").mkdir()
    assert not [*home.iterdir()]


def test_a_jvm_has_its_temporary_files_there_too(home):
    with scratch({"SPARK_SUBMIT_OPTS": "-Dmine='a b'"}) as made:
        assert properties(made) == {
            "mine": "a b",
            "java.io.tmpdir": made.variables["SPARK_LOCAL_DIRS"],
        }


def test_where_the_path_is_too_long_for_a_socket_there_is_none(temporary, monkeypatch):
    assert has_sockets()
    (deep := temporary / ("d" * 60)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert not has_sockets()


def test_each_disk_that_is_named_for_spark_has_one_too(home, temporary):
    disks = [temporary / "a", temporary / "b" / "c"]
    with scratch({"SPARK_LOCAL_DIRS": ",".join(map(str, disks))}) as made:
        folders = [Path(each) for each in made.variables["SPARK_LOCAL_DIRS"].split(",")]
        assert [each.parent.parent for each in folders] == disks
        assert {each.stat().st_mode & 0o077 for each in folders} == {0}
        assert Path(properties(made)["java.io.tmpdir"]).parent == home
    assert not [path for disk in disks for path in disk.rglob("*/*")]


def test_a_disk_that_cannot_be_had_is_refused_by_name(temporary):
    (temporary / "file").touch()
    with fails(SettingInvalid, "scratch_unmade", folder=str(temporary / "file")):
        Scratch({"SPARK_LOCAL_DIRS": str(temporary / "file")})


def test_what_a_killed_jvm_left_goes_with_the_next_start_and_that_of_a_living_one_stays(home):
    started = []
    for _ in range(2):
        made = Scratch({})
        sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
        started.append(subprocess.Popen(sleeps, pass_fds=made.locks))
        made.let_go()
        (Path(made.variables["SPARK_LOCAL_DIRS"]) / "rows").touch()
    killed, lives = started
    try:
        assert len([*home.glob("*/rows")]) == 2
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        with scratch({}):
            assert len([*home.glob("*/rows")]) == 1
    finally:
        lives.kill()
        lives.wait()
    with scratch({}):
        pass
    assert not [*home.iterdir()]


def test_a_disk_without_locks_has_one_too_which_nobody_sweeps(home, monkeypatch):
    """As Lustre or NFS may be mounted."""

    def none(*_: object) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", none)
    with scratch({}) as made, scratch({}):
        assert Path(made.variables["SPARK_LOCAL_DIRS"]).is_dir()
    monkeypatch.setenv(FOLDERS, Scratch({}).variables[FOLDERS])
    remove_own()
    assert not [*home.iterdir()]


@needs_two_users
def test_what_could_not_be_removed_at_once_goes_with_a_later_start(temporary):
    """Root removes whatever it meets."""
    temporary.chmod(0o1777)

    def twice() -> list[int]:
        with scratch({}) as made:
            kept = Path(made.variables["SPARK_LOCAL_DIRS"]) / "kept"
            kept.mkdir()
            (kept / "rows").touch()
            kept.chmod(0o500)
        left = len([*temporary.glob("*/*/kept/rows")])
        kept.chmod(0o700)
        with scratch({}):
            pass
        return [left, len([*temporary.glob("*/*")])]

    assert as_nobody(twice) == [1, 0]


def test_what_another_machine_has_in_a_shared_folder_stays(home, monkeypatch):
    """Its lock may be free here while its JVM lives there."""
    with monkeypatch.context() as patch:
        patch.setattr(socket, "gethostname", lambda: "another.example")
        (made := Scratch({})).let_go()
    with scratch({}):
        assert Path(made.variables["SPARK_LOCAL_DIRS"]).exists()


def test_who_has_killed_its_jvm_removes_what_that_one_left_and_nothing_else(home, monkeypatch):
    with scratch({}) as other:
        made = Scratch({})
        monkeypatch.setenv(FOLDERS, made.variables[FOLDERS])
        closes = threading.Timer(0.1, made.let_go)  # the last thread of a killed JVM
        closes.start()
        remove_own()
        closes.join()
        assert [*map(str, home.glob("*[!k]"))] == [other.variables[FOLDERS]]


def test_a_command_leaves_nothing(home):
    assert foreground.run([sys.executable, "-c", WRITES], os.environ) == 0
    assert not [*home.iterdir()]


def test_the_cases_that_pytest_runs_have_a_folder_too(home, monkeypatch, temporary):
    notes = f"import os; open({str(temporary / 'noted')!r}, 'w').write(os.environ[{FOLDERS!r}])"
    words = [sys.executable, "-c", notes]
    monkeypatch.setattr("spark_jobs.proof.start.commands", lambda *_: [(words, os.environ)])
    assert pytest_plugin._run([("orders", "one")]) == {}  # noqa: SLF001 - pytest calls it
    assert Path((temporary / "noted").read_text()).parent == home
    assert not [*home.iterdir()]


def test_who_starts_a_process_starts_no_spark_or_gives_it_a_folder():
    starts, gives = set[str](), set[str]()
    for path in (REPO / "spark_jobs").rglob("*.py"):
        name = str(path.relative_to(REPO / "spark_jobs").with_suffix(""))
        for node in ast.walk(ast.parse(path.read_text())):
            of = getattr(getattr(node, "value", None), "id", "")
            if isinstance(node, ast.Attribute) and of == "subprocess" and node.attr in STARTS:
                starts.add(name)
            if isinstance(node, ast.ImportFrom) and node.module == "spark_jobs.launch.scratch":
                gives.add(name)
    assert starts - gives == WITHOUT_SPARK
