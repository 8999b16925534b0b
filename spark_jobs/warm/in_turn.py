"""In turn: several drains in one application, which ends behind the last of them.

Each has a session of its own, and finds nothing of the one before: as in a worker. The application
ends before its last drain if it is asked to stop, and if one has left what may be at work yet;
exit status UNBEGUN says so to whoever started it (launch/sharing.py).
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import Final, NoReturn, Protocol

from spark_jobs import failpoint
from spark_jobs.contract.errors import RunStalled, Stopped, worst
from spark_jobs.contract.report import Report
from spark_jobs.launch.processes import kill_jvm
from spark_jobs.launch.sharing import UNBEGUN, leaves_nothing_at_work
from spark_jobs.stopping import StopRequest
from spark_jobs.warm.jvm import Jvm
from spark_jobs.warm.limited import within
from spark_jobs.warm.surroundings import put_back
from spark_jobs.warm.worker import CLEAN_SECONDS

LOG = logging.getLogger(__name__)
Drain = Callable[[], Report]
START_SECONDS: Final = 300.0
"""How long Spark may take to start, where no drain's watchdog looks yet: what a watchdog allows at
least for that (OUTSIDE_SECONDS of runs/stillness.py).
"""


class Spark(Protocol):
    """What the drains share: the JVM of jvm.py."""

    def new_session(self) -> None:
        """Make a session that the next drain finds."""

    def clean(self) -> None:
        """Leave nothing of the drain behind."""


def in_turn(
    drains: Mapping[str, Drain], stop: StopRequest, start: Callable[[], Spark] = Jvm
) -> int:
    """Do the drains, by pipeline. Returns the exit status.

    It is that of Stopped if somebody has asked to stop, whatever came of the drains: the command
    that started this one is not to start another. Else it is that of the worst drain if all were
    done, and UNBEGUN if not.
    """
    reports = list[Report]()
    waiting = [*drains]
    spark, why = _started(start)
    while waiting:
        if stop.asked:
            LOG.info("not begun, as the run was asked to stop: %s", ", ".join(waiting))
            return Stopped.exit_status
        if reports and why:
            LOG.info("left to another application, as %s: %s", why, ", ".join(waiting))
            return UNBEGUN
        name = waiting.pop(0)
        reports.append(_done(drains[name]))
        if waiting and not why:
            why = _why_unfit(spark, name, reports[-1])
    if stop.asked:
        return Stopped.exit_status
    problem = worst(each.problem.error() if each.problem else None for each in reports)
    return problem.exit_status if problem else 0


def _started(start: Callable[[], Spark]) -> tuple[Spark | None, str]:
    """The JVM with a session for the first drain. Without one, that drain says why in its report:
    it starts a session itself. Where Spark stands still, the process ends.
    """
    # A thread watches, and Spark starts in this one: what it makes active is of the thread.
    watch = threading.Timer(START_SECONDS, _end_process)
    watch.daemon = True
    watch.start()
    try:
        spark = start()
        spark.new_session()
    except Exception as error:  # noqa: BLE001 - whatever Spark says, the drain hears it too
        return None, f"Spark did not start ({type(error).__name__})"
    finally:
        watch.cancel()
    return spark, ""


def _end_process() -> NoReturn:
    """End with the JVM. The first drain has no report then, and counts as killed."""
    # What a driver prints goes through its JVM, which may stand still: nobody waits for it.
    why = f"Spark has not started within {START_SECONDS:g} s: the application ends."
    within(CLEAN_SECONDS, lambda: LOG.error("%s", why))
    kill_jvm()
    os._exit(RunStalled.exit_status)


def _done(drain: Drain) -> Report:
    with put_back():
        failpoint.read_again()
        return drain()


def _why_unfit(spark: Spark | None, name: str, report: Report) -> str:
    """Why the JVM may not do another drain behind this one; empty if it may, and has a session for
    it.
    """
    if not leaves_nothing_at_work(report):
        return f"the drain of {name} failed and may have left a query at work"
    assert spark is not None
    for work in (spark.clean, spark.new_session):
        if problem := within(CLEAN_SECONDS, work):
            return f"what {name} has left cannot be cleaned up ({problem})"
    return ""
