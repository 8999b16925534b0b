"""`python -m local.stack.scheduler airflow scheduler ...`: Airflow's scheduler, stopped in order.

Where it is asked to stop (SIGTERM, from `docker compose stop`), Airflow's LocalExecutor waits for
the tasks at work, and a drain may have hours of work. So each drain is asked to end between two
batches, and the scheduler is told after that; it waits for them, Compose for it
(stop_grace_period). A drain that was asked is STOPPED, which Airflow tries again: it goes on where
it was.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped, unused-ignore]

from spark_jobs.launch import submit
from spark_jobs.launch.processes import is_driver

POLL_SECONDS = 0.5
TERM = 1 << (signal.SIGTERM - 1)


def run(words: list[str]) -> int:
    """Run the command to its end, and return its exit status."""
    wanted: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: wanted.append(number))
    scheduler = subprocess.Popen(words)
    asked = set[int]()
    while scheduler.poll() is None:
        if wanted:
            # Each time: one that begins later, or was not ready to be asked, is asked later.
            asked |= set(_ask(asked))
            if scheduler.pid not in asked:
                scheduler.terminate()
                asked.add(scheduler.pid)
        with suppress(subprocess.TimeoutExpired):
            scheduler.wait(POLL_SECONDS)
    return 0 if wanted else scheduler.returncode


def _ask(asked: set[int]) -> Iterator[int]:
    """SIGTERM to the driver's Python of every drain that takes it as a wish to stop and was not
    asked yet.
    """
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            ours = is_driver(process, submit.application())
            if ours and process.pid not in asked and _catches_term(process.pid):
                process.terminate()
                yield process.pid


def _catches_term(pid: int) -> bool:
    """Whether the process has said what SIGTERM means to it; before that, it would just die."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return any(int(line.split()[1], 16) & TERM for line in lines if line.startswith("SigCgt:"))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
