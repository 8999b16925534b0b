"""Command: `sluice` over a scene's root and broker, in a process of its own or in this one."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.cli.terminal import NOT_DONE
from spark_jobs.settings.installation import REPO
from tests.harness.lines import as_before
from tests.harness.patience import patient
from tests.harness.ran import ran

SLUICE = str(Path(sys.executable).parent / "sluice")
WIDE = "400"
"""Columns of the terminal, so that no cell of a table is cut off."""
PATIENCE_SECONDS = patient(400)


def sluice(scene, package, *words, beside=None, typed="", **variables):
    """Run it; its pipelines are in `beside` or the repository, and `typed` is a person's answer."""
    env = {
        **os.environ,
        **scene.settings.environment(),
        "SLUICE_PIPELINES": package,
        "PYTHONPATH": os.pathsep.join(map(str, (REPO, beside) if beside else (REPO,))),
        "COLUMNS": WIDE,
        **variables,
    }
    return ran(SLUICE, *words, env=env, input=typed, cwd=None, timeout=PATIENCE_SECONDS)


def sluice_here(variables: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run it in this process, with these variables: for commands that start no other process."""
    with pytest.MonkeyPatch.context() as patch, as_before():
        for name, value in variables.items():
            patch.setenv(name, value)
        done = CliRunner().invoke(app, list(words))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(list(words), done.exit_code, done.stdout, done.stderr)


def answer(done: subprocess.CompletedProcess[str]) -> str:
    """What it prints, if it ends well and has done what it is for."""
    assert done.returncode == 0, done.stderr
    return done.stdout


def undone(done: subprocess.CompletedProcess[str]) -> str:
    """What it prints, if it ends well and says that it has only shown, or was told No."""
    assert done.returncode == NOT_DONE, (done.returncode, done.stderr)
    return done.stdout
