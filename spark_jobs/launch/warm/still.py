"""Still: a worker that has its socket and does not answer, because it does nothing any more.

Somebody has stopped it (SIGSTOP), or its threads wait for one another. Each client would wait for
it, and then start cold.
"""

from __future__ import annotations

from contextlib import suppress

import psutil

from spark_jobs.launch.processes import kill_tree
from spark_jobs.launch.warm.start import BORN

BUSY_SECONDS = 0.05
"""Of the processor. A worker that has used more while its client waited is at work, and may only be
slow: its drain is not ended.
"""

_Used = dict[tuple[int, float], float]
"""Process and when it was made -> seconds."""
GONE_SECONDS = 10.0
"""How long a killed worker may take to be gone: until then it has its socket."""


class Watched:
    """The process at the other end of a link, watched from now on. `pid` is the kernel's word; None
    where it gives none.
    """

    def __init__(self, pid: int | None) -> None:
        self._process: psutil.Process | None = None
        self._used = _Used()
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
            if not _at_work(self._used, _used(process)):
                kill_tree(process.pid, GONE_SECONDS)
                return True
        return False


def _used(process: psutil.Process) -> _Used:
    """By the process and by each below it, in seconds of the processor."""
    found = _Used()
    for each in [process, *process.children(recursive=True)]:
        with suppress(psutil.Error):
            times = each.cpu_times()
            found[each.pid, each.create_time()] = float(times.user + times.system)
    return found


def _at_work(before: _Used, now: _Used) -> bool:
    used = sum(seconds - before.get(process, 0.0) for process, seconds in now.items())
    return bool(before.keys() - now.keys()) or used >= BUSY_SECONDS


def _topmost(process: psutil.Process) -> psutil.Process:
    above = process.parent()
    with suppress(psutil.Error):
        if above is not None and BORN in above.environ():
            return _topmost(above)
    return process
