"""The folders of one user in the temporary folder, where another user came first."""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.errors import SettingInvalid
from spark_jobs.launch import spark_side as shipment
from spark_jobs.launch.scratch import Scratch
from spark_jobs.launch.warm.place import socket_path
from spark_jobs.storage.root.files import write_whole
from spark_jobs.storage.root.path_forms import own_folder
from spark_jobs.storage.root.paths import local_report_path
from tests.harness.nobody import NOBODY, needs_two_users
from tests.harness.refused import fails

ROOT = "s3://bucket/root"


@pytest.fixture
def shared(monkeypatch) -> Iterator[Path]:
    """A temporary folder to which all users may write, as the machine's."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def somebody_else(shared: Path, command: str) -> int:
    """What a shell of another user says."""
    return subprocess.run(["sh", "-c", command], cwd=shared, user=NOBODY, check=False).returncode


USES = [
    pytest.param("reports", lambda: local_report_path(ROOT, "sales", "run-1"), id="reports"),
    pytest.param("code", shipment.code_archive, id="code"),
    pytest.param("warm", lambda: socket_path(ROOT), id="warm"),
    pytest.param("scratch", lambda: Scratch({}), id="scratch"),
]


@needs_two_users
@pytest.mark.parametrize(("name", "use"), USES)
@pytest.mark.parametrize(
    "planted", ["mkdir -m 777 {0}", "mkdir own && ln -s own {0}", "ln -s nowhere {0}", "touch {0}"]
)
def test_a_folder_that_another_user_made_is_refused(shared, name, use, planted):
    assert somebody_else(shared, planted.format(f"sluice-{name}-{os.getuid()}")) == 0
    with fails(SettingInvalid, "folder_shared"):
        use()


def test_a_folder_of_ones_own_that_others_may_enter_is_refused(shared):
    made = own_folder("reports", "that is a risk")
    assert made.stat().st_mode & 0o777 == 0o700
    assert own_folder("reports", "that is a risk") == made
    made.chmod(0o750)
    with fails(SettingInvalid, "folder_shared", risk="that is a risk"):
        own_folder("reports", "that is a risk")


@needs_two_users
def test_nobody_else_reads_a_report_or_puts_one_in_its_place(shared):
    path = local_report_path(ROOT, "sales", "run-1")
    path.parent.mkdir(parents=True)
    write_whole(path, "a failing value")
    for attempt in (f"cat {path}", f"ls {path.parent}", f"ln -sf /etc/passwd {path}"):
        assert somebody_else(shared, f"{attempt} 2>/dev/null") != 0, attempt
    assert path.read_text() == "a failing value"
