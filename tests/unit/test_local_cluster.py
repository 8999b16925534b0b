"""The cluster of tests and bench: what it has started ends with it, whatever becomes of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from local import cluster


def test_a_master_that_says_no_address_in_time_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = list[subprocess.Popen[bytes]]()

    def silent(made: cluster.Cluster, name: str, *_: str) -> Path:
        (log := tmp_path / f"{name}.log").touch()
        started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
        made._started.append(started[-1])  # noqa: SLF001 - as the method that this stands for
        return log

    monkeypatch.setattr(cluster.Cluster, "_daemon", silent)
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.2)
    with pytest.raises(AssertionError, match="not within"):
        cluster.Cluster(tmp_path / "spark")
    assert started[0].poll() is not None
