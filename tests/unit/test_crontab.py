"""The line of docs/deploy.md for cron, given to the shell that cron has, with what cron sets."""

import fcntl
import subprocess
from pathlib import Path

import pytest

from spark_jobs.settings.installation import REPO

PAGE = (REPO / "docs" / "deploy.md").read_text()
SLUICE = """#!/bin/sh
echo "$*; $(pwd)" >>ran
exit $(cat status)
"""


@pytest.fixture
def ran(tmp_path):
    """Runs the line once, with a `sluice` that ends with this status: what cron would mail."""
    command = tmp_path / "sluice"
    command.write_text(SLUICE)
    command.chmod(0o755)
    [line] = (each for each in PAGE.splitlines() if each.startswith("17 * * * *"))
    words = line.removeprefix("17 * * * *").strip()
    assert "%" not in words, "cron makes a line break of it"
    words = words.replace("/srv/shop", str(tmp_path)).replace("/opt/sluice/bin", str(tmp_path))

    def once(status: int) -> str:
        (tmp_path / "status").write_text(str(status))
        cron = {"HOME": "/", "SHELL": "/bin/sh", "LOGNAME": "root", "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            ["/bin/sh", "-c", words], env=cron, cwd="/", capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    return once


def test_a_run_is_in_its_project_and_says_nothing(ran, tmp_path):
    assert ran(0) == ""
    assert (tmp_path / "ran").read_text() == f"--env prod run orders; {tmp_path}\n"


def test_the_status_of_a_run_that_failed_is_mailed(ran):
    assert ran(51) == "status 51\n"


def test_a_run_amid_another_begins_not_and_is_no_failure(ran, tmp_path):
    with Path(tmp_path / "orders.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert ran(51) == ""
    assert not (tmp_path / "ran").exists()
