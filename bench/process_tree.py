"""Process tree: a process and all that it starts, looked at again and again from a thread, for
their memory and for the processor seconds that the kernel adds up for nobody.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psutil

SAMPLE_SECONDS = 0.2
"""A look costs some milliseconds of the cores that the process has too; every arm pays them alike.
"""


@dataclass
class Seen:
    """One process, as it was seen last."""

    own_seconds: float
    """User and system, of itself."""
    reaped_seconds: float
    """Of its children for which it has waited, and of those for which they have."""
    unwaited: bool
    """Whether its parent ignores SIGCHLD: the kernel then removes it at its end, and adds its
    seconds to nobody's. PySpark's daemon does that to its workers (pyspark/daemon.py).
    """


class ProcessTree:
    """Watches, within the block, the children of this process that are not in `others`, with all
    that they start.

    Where orphans are adopted (process.py), a process whose parent has died is among them.
    """

    def __init__(self, others: Collection[int]) -> None:
        self.peak_bytes = 0
        """The largest sum of resident memory of processes that were seen twice. Pages that
        processes share count for each of them.
        """
        self._others = others
        self._me = psutil.Process()
        self._seen: dict[tuple[int, float], Seen] = {}
        """Process id and time of start: an id may be given again."""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def sampled_seconds(self) -> float:
        """Processor seconds of all that were seen, up to the last look at each: at most what was
        used.
        """
        return sum(seen.own_seconds for seen in self._seen.values())

    def unwaited_seconds(self, waited: Collection[int]) -> float:
        """Processor seconds that no wait gives, up to the last look at each process.

        `waited` has the ids of processes for which somebody has waited after all: an orphan's
        parent is this process.
        """
        return sum(
            seen.own_seconds + seen.reaped_seconds
            for (pid, _), seen in self._seen.items()
            if seen.unwaited and pid not in waited
        )

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            self.look()

    def look(self) -> None:
        """Look at every process once."""
        resident = 0
        for process in self._family():
            try:
                with process.oneshot():
                    if self._note(process):
                        resident += process.memory_info().rss
            except psutil.Error:
                continue  # it has ended meanwhile
        self.peak_bytes = max(self.peak_bytes, resident)

    def _family(self) -> list[psutil.Process]:
        found = []
        for child in self._me.children():
            if child.pid not in self._others:
                found.append(child)
                try:
                    found += child.children(recursive=True)
                except psutil.Error:
                    continue
        return found

    def _note(self, process: psutil.Process) -> bool:
        """Note its seconds; whether it was seen before.

        A JVM that starts a process shares all of its memory with it for a moment (vfork), and would
        count twice.
        """
        times = process.cpu_times()
        key = process.pid, process.create_time()
        known = self._seen.get(key)
        seen = known or Seen(0, 0, _ignores_children(process.ppid()))
        seen.own_seconds = times.user + times.system
        seen.reaped_seconds = times.children_user + times.children_system
        self._seen[key] = seen
        return known is not None


def _ignores_children(pid: int) -> bool:
    """Whether the process ignores SIGCHLD; False where no /proc says so.

    proc(5): SigIgn is a mask in base 16, the lowest bit is signal 1.
    """
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return False
    mask = next((line.split()[1] for line in lines if line.startswith("SigIgn:")), "0")
    return bool(int(mask, 16) >> (signal.SIGCHLD - 1) & 1)
