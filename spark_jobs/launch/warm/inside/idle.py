"""Idle: drains of a worker's own while nobody wants it. A JVM's first drains are slow, since their
code is not compiled; so these take the place of clients'.

When one is done is told by looking: a thread cannot give up its priority and take it again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from threading import Timer
from typing import Final, NoReturn, Protocol, Self

import psutil

from spark_jobs.launch.processes import processor_seconds
from spark_jobs.launch.session import within
from spark_jobs.launch.warm.control_group import processors
from spark_jobs.launch.warm.inside.jvm import Spark
from spark_jobs.launch.warm.inside.output import OwnLog
from spark_jobs.launch.warm.inside.own_drain import LeftBehind, OwnDrains
from spark_jobs.launch.warm.inside.reception import Turn
from spark_jobs.settings.installation import Settings

ENOUGH: Final = 3
"""Drains of a worker, clients' among them: behind five the next one is no quicker than behind three
(bench/NOTES.md).
"""
RESTED_SECONDS: Final = 30.0
"""How long nobody has wanted the worker."""
FREE: Final = 0.5
"""The share of the processors that is free."""
MOST_SECONDS: Final = 120.0
"""How long one may take: who wants the worker meanwhile waits, or starts cold."""
CLEAN_SECONDS: Final = 30.0
"""How long the worker may clean up behind a drain: the client waits for that."""


def free() -> float:
    """The share of this process's processors that nobody has used since the last call; none where
    the machine does not tell.
    """
    try:
        busy = psutil.cpu_percent(percpu=True)
    except (psutil.Error, OSError):
        return 0.0
    found = [each for number, each in enumerate(busy) if number in _ours()] or busy
    return 1 - float(sum(found)) / len(found) / 100


def is_limited() -> bool:
    """Whether this process may not take all of its processors' time: the machine does not tell what
    is left of a group's quota.
    """
    return processors() < len(_ours())


def _ours() -> Collection[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return range(os.cpu_count() or 1)


class Drains(Protocol):
    """Drains that concern no client: own_drain.py has the real ones."""

    def next(self, turn: Turn) -> bool:
        """Do one. Returns whether it came to its end, since nobody wanted the worker meanwhile.
        Raises what went wrong: LeftBehind if no other drain may come behind it.
        """

    def remove(self) -> None:
        """No other one comes: leave nothing of them."""


class Idle:
    """The idle drains of one worker."""

    def __init__(
        self,
        drains: Drains,
        free: Callable[[], float] = free,
        is_limited: Callable[[], bool] = is_limited,
    ) -> None:
        self._drains = drains
        self._free = free
        self._is_limited = is_limited
        self._failed = False
        self._begun = False
        """Whether there may be files of them."""
        self.done = 0
        """Those that came to their end."""
        self.seconds = 0.0
        """Of processors, that all of them took."""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those of a worker with these settings."""
        return cls(OwnDrains(settings))

    def warms(self, drains: int) -> bool:
        """Whether more come, once there is time. `drains`: clients' drains of the worker."""
        return not self._failed and drains + self.done < ENOUGH and not self._is_limited()

    def is_due(self, drains: int, rested: float) -> bool:
        """Whether one is now. `rested`: for how many seconds nobody has wanted the worker, which
        has looked here each second of them.
        """
        return self.warms(drains) and self._free() >= FREE and rested >= RESTED_SECONDS

    def tidy(self, drains: int) -> None:
        """Leave nothing of them once no other one comes."""
        if self._begun and not self.warms(drains):
            self._begun = False
            self._drains.remove()

    def do(
        self, spark: Spark, turn: Turn, log: OwnLog, drains: int, leave: Callable[[str], NoReturn]
    ) -> None:
        """Do one, and leave nothing of it in the JVM. One that fails is noted, and the last one.
        `leave` ends a worker that cannot go on.
        """
        log.note(f"idle drain {self.done + 1}, while nobody wants a run")
        before, ended, said, problem = processor_seconds(), False, "ended", ""
        self._begun = True
        limit = Timer(MOST_SECONDS, leave, ("its idle drain does not end",))
        limit.daemon = True
        limit.start()
        try:
            spark.new_session()
            ended = self._drains.next(turn)
            said = "ended" if ended else "stopped, as somebody wants the worker"
        except LeftBehind as error:
            problem = str(error)
        except Exception as error:  # noqa: BLE001 - whatever it is, clients' drains go on
            self._failed = True
            said = f"failed, and no other one comes: {type(error).__name__}: {error}"
        limit.cancel()
        limit.join()  # one that ends the worker does not return
        if problem := problem or within(CLEAN_SECONDS, spark.clean):
            leave(f"it cannot clean up behind an idle drain: {problem}")
        seconds = processor_seconds() - before
        self.seconds += seconds
        self.done += ended
        log.note(f"the idle drain {said}; {seconds:.1f} processor seconds")
        self.tidy(drains)
        self._free()  # the next look sees what others use
