"""A worker's Python daemons: what it makes of one that is gone. Over real processes, without Spark."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from spark_jobs.launch.submit import DAEMON
from spark_jobs.launch.warm.inside.jvm import SPARKS_DAEMON, DaemonGone, PythonWorkers

FORKS = """
import subprocess, sys
worker = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
print(worker.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def daemon(module: str = DAEMON) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A child of this process, which stands for the JVM; and the id of a worker of it."""
    words = [sys.executable, "-c", FORKS, module]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdout
        try:
            yield started, int(started.stdout.readline())
        finally:
            started.kill()


@pytest.mark.parametrize("module", [DAEMON, SPARKS_DAEMON])
def test_behind_a_drain_the_workers_are_killed_and_their_daemon_lives(module):
    with daemon(module) as (lives, worker):
        python = PythonWorkers(os.getpid())
        python.end()
        python.hold_daemons()
        assert lives.poll() is None
        assert (
            not psutil.pid_exists(worker) or psutil.Process(worker).status() == psutil.STATUS_ZOMBIE
        )


def test_a_daemon_that_was_there_and_is_gone_is_missed_though_another_has_come():
    python = PythonWorkers(os.getpid())
    with daemon() as (first, _):
        python.end()
        first.kill()
        psutil.wait_procs([psutil.Process(first.pid)], 5)
        with daemon():
            python.end()
            with pytest.raises(DaemonGone, match=f"process {first.pid}"):
                python.hold_daemons()


def test_none_is_missed_where_none_was_there():
    python = PythonWorkers(os.getpid())
    python.end()
    python.hold_daemons()
