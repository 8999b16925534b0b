"""Command: `sluice` as a process of its own, over the root and the broker of a scene."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from spark_jobs.contract.settings import REPO
from tests.harness.scene import Scene

SLUICE = str(Path(sys.executable).parent / "sluice")
WIDE = "400"
"""Columns of the terminal, so that no cell of a table is cut off."""
PATIENCE_SECONDS = 400


def sluice(
    scene: Scene,
    package: str,
    *words: str,
    beside: Path | None = None,
    typed: str = "",
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run it. The pipelines are in the package, which is in the repository or in `beside`. `typed`
    is what a person answers.
    """
    env = {
        **os.environ,
        **scene.settings.environment(),
        "SLUICE_PIPELINES": package,
        "PYTHONPATH": os.pathsep.join(map(str, (REPO, beside) if beside else (REPO,))),
        "COLUMNS": WIDE,
        **variables,
    }
    return subprocess.run(
        [SLUICE, *words],
        env=env,
        input=typed,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


def answer(done: subprocess.CompletedProcess[str]) -> str:
    """What it prints, if it ends well."""
    assert done.returncode == 0, done.stderr
    return done.stdout
