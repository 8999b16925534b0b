"""Verifying: the tables of a campaign against the ledger, in a process of its own or in this one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from spark_jobs.settings.installation import REPO
from tests.harness.scene import Scene
from tests.harness.verifier import Verifier


def in_a_process(scene: Scene, events: Path) -> dict[str, Any]:
    """The verdict's fields, by a process that has loaded nothing of the campaign."""
    words = [
        sys.executable,
        "-m",
        "tests.harness.verifier",
        scene.settings.root,
        str(scene.ledger_folder),
        scene.spec.name,
        str(scene.spec.watermark_delay.total_seconds()),
        str(events),
    ]
    done = subprocess.run(words, cwd=REPO, capture_output=True, text=True, check=False)
    assert done.stdout, f"the verifier failed: {done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def here(scene: Scene, events: Path) -> dict[str, Any]:
    """The same, without two seconds of a core for Python's start."""
    delay = scene.spec.watermark_delay
    assert delay is not None
    return (
        Verifier(scene.settings.root, scene.ledger_folder, scene.spec.name, delay, events)
        .verdict()
        ._asdict()
    )
