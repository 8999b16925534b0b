"""Runs that share a worker: what a warm one takes, the worker's seconds and memory included.

The worker outlives each client, so its processes are watched beside the client's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from bench.arms import Drained, Sluice
from bench.process import Cost, adopt_orphans, run
from bench.process_tree import ProcessTree
from spark_jobs.launch import submit
from spark_jobs.launch.warm.fits import shown
from spark_jobs.launch.warm.place import socket_path
from spark_jobs.messages.report import read_report
from spark_jobs.settings.variables import ROOT

PATIENCE_SECONDS = 60
IDLE_SECONDS = 120
"""How long idle drains may take to come, and to be done."""


class Warm(Sluice):
    """The arm whose drains go through a worker, which `load` starts and `end` ends."""

    def load(self, label: str) -> None:
        """A first drain, cold as each worker's first is, and not measured."""
        begin(self._command(label), self._environment(), self.home)

    def drain(self, label: str) -> Drained:
        log = self.home / f"{label}.log"
        cost = run_warm(
            self.settings.root, self._command(label), self._environment(), log, self.home
        )
        report = read_report(self.home / f"{label}.json")
        return Drained(report.query_seconds, cost, report, len(report.batches))

    def end(self) -> None:
        """End the worker, and wait for that."""
        end(self.settings.root)

    def _command(self, label: str) -> list[str]:
        report = str(self.home / f"{label}.json")
        return [sys.executable, "-m", "bench.warm_client", self.pipeline, report, label]

    def _environment(self) -> dict[str, str]:
        return submit.environment(self.settings._replace(warm="on")) | self._variables


def begin(command: Sequence[str], environment: Mapping[str, str], cwd: Path) -> None:
    """A first run, which starts the worker, and is not measured. Behind it the worker does its idle
    drains, where it awaits a scheduled run: they would slow what is measured, so they are waited
    for.
    """
    adopt_orphans()  # the worker, which is looked at as a child: `run` may not have done it yet
    given = {**os.environ, **environment}
    subprocess.run(command, env=given, check=True, stdout=subprocess.DEVNULL, cwd=cwd)
    until = time.monotonic() + IDLE_SECONDS
    while time.monotonic() < until and _warms(given[ROOT]):
        time.sleep(0.2)


def _warms(root: str) -> bool:
    found = shown(socket_path(root))
    return found is not None and found.warms


def run_warm(
    root: str, command: Sequence[str], environment: Mapping[str, str], log: Path, cwd: Path
) -> Cost:
    """As bench.process.run, with what the root's worker takes."""
    worker = _worker(root)
    if sys.platform == "linux" and worker.ppid() != os.getpid():
        raise RuntimeError("the worker is no child of the benchmark, which would not see it")
    others = {child.pid for child in psutil.Process().children()} - {worker.pid}
    tree = ProcessTree(others)
    tree.look()
    before = tree.sampled_seconds()
    with tree:
        client = run(command, environment, log, cwd)
    tree.look()
    own = tree.sampled_seconds() - before
    # The tree has seen the client too, up to a fifth of a second before its end.
    used = max(own, client.cpu_seconds)
    return Cost(client.seconds, used, max(tree.peak_bytes, client.peak_bytes), used)


def end(root: str) -> None:
    """End the root's worker, if it has not ended by itself, and wait for that."""
    if shown(socket_path(root)) is None:
        return
    worker = _worker(root)
    shown(socket_path(root), ends=True)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            worker.kill()
        time.sleep(0.05)


def _worker(root: str) -> psutil.Process:
    """Its topmost process. Raises RuntimeError if there is none."""
    found = shown(socket_path(root))
    if found is None:
        raise RuntimeError(f"no worker for {root}")
    return psutil.Process(found.process)
