"""Still: a worker that has its socket and does not answer, because it does nothing any more.

Somebody has stopped it (SIGSTOP), or its threads wait for one another. Each client would wait for
it, and then start cold.
"""

from __future__ import annotations

from contextlib import suppress

import psutil

from spark_jobs.launch.processes import kill_tree
from spark_jobs.warm.start import BORN

BUSY_SECONDS = 0.05
"""Of the processor. A worker that has used more while its client waited is at work, and may only be
slow: its drain is not ended.
"""

GONE_SECONDS = 10.0
"""How long a killed worker may take to be gone: until then it has its socket."""


class Watched:
    """The process at the other end of a link, watched from now on. `pid` is the kernel's word; None
    where it gives none.
    """

    def __init__(self, pid: int | None) -> None:
        self._process: psutil.Process | None = None
        self._used = 0.0
        with suppress(psutil.Error):
            if pid is not None and BORN in psutil.Process(pid).environ():
                # Its JVM, which computes, is above the driver's Python, which has the socket.
                self._process = _topmost(psutil.Process(pid))
                self._used = _used(self._process)

    def ended(self) -> bool:
        """Whether it is a worker that has done nothing since: it is ended then, with its JVM."""
        with suppress(psutil.Error):
            process = self._process
            if process is None or not process.is_running():
                return False
            if _used(process) - self._used < BUSY_SECONDS:
                kill_tree(process.pid, GONE_SECONDS)
                return True
        return False


def _used(process: psutil.Process) -> float:
    """By the process and all below it, in seconds of the processor."""
    every = [process, *process.children(recursive=True)]
    return sum(_seconds(each) for each in every)


def _seconds(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def _topmost(process: psutil.Process) -> psutil.Process:
    """Of those that were started as this worker: spark-submit's, above the driver's Python."""
    above = process.parent()
    with suppress(psutil.Error):
        if above is not None and BORN in above.environ():
            return _topmost(above)
    return process
