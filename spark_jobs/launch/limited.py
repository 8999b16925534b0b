"""Limited: work that may hang, for which nobody waits longer than a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable


def within(seconds: float, work: Callable[[], object]) -> str:
    """Do the work in a thread. Returns why it is not done; empty if it is.

    The thread of work that takes longer goes on: only for a process that ends then.
    """
    problem = [f"it is not done within {seconds:g} s"]

    def do() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the work is not done
            problem[0] = f"{type(error).__name__}: {error}"
        else:
            problem[0] = ""

    thread = threading.Thread(target=do, name="limited", daemon=True)
    thread.start()
    thread.join(seconds)
    return problem[0]
