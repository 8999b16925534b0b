"""The arm whose drains share a worker: what a warm delivery takes, the worker's seconds and memory
included.

The worker outlives each client, so its processes are watched beside the client's.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil

from bench.arms import Drained, Sluice
from bench.process import Cost, adopt_orphans, run
from bench.process_tree import ProcessTree
from spark_jobs.launch import submit
from spark_jobs.messages.report import read_report
from spark_jobs.warm.look import shown
from spark_jobs.warm.place import socket_path

PATIENCE_SECONDS = 60


class Warm(Sluice):
    """Drains through a worker, which `load` starts and `end` ends."""

    def load(self, label: str) -> None:
        """A first drain, cold as each worker's first is, and not measured."""
        adopt_orphans()  # the worker, which is looked at as a child: `run` may not have done it yet
        subprocess.run(
            self._command(label),
            env={**os.environ, **self._environment()},
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.home,
        )

    def drain(self, label: str) -> Drained:
        worker = psutil.Process(self._process())
        if sys.platform == "linux" and worker.ppid() != os.getpid():
            raise RuntimeError("the worker is no child of the benchmark, which would not see it")
        others = {child.pid for child in psutil.Process().children()} - {worker.pid}
        tree = ProcessTree(others)
        tree.look()
        before = tree.sampled_seconds()
        with tree:
            client = run(
                self._command(label), self._environment(), self.home / f"{label}.log", self.home
            )
        tree.look()
        own = tree.sampled_seconds() - before
        # The tree has seen the client too, up to a fifth of a second before its end.
        used = max(own, client.cpu_seconds)
        report = read_report(self.home / f"{label}.json")
        cost = Cost(client.seconds, used, max(tree.peak_bytes, client.peak_bytes), used)
        return Drained(report.query_seconds, cost, report, len(report.batches))

    def end(self) -> None:
        """End the worker, and wait for that."""
        socket = socket_path(self.settings.root)
        worker = psutil.Process(self._process())
        shown(socket, ends=True)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > deadline:
                worker.kill()
            time.sleep(0.05)

    def _process(self) -> int:
        """The worker's topmost process. Raises RuntimeError if there is none."""
        found = shown(socket_path(self.settings.root))
        if found is None:
            raise RuntimeError(f"no worker for {self.settings.root}")
        return found.process

    def _command(self, label: str) -> list[str]:
        report = str(self.home / f"{label}.json")
        return [sys.executable, "-m", "bench.warm_client", self._pipeline, report, label]

    def _environment(self) -> dict[str, str]:
        return submit.environment(self.settings._replace(warm="on")) | self._variables
