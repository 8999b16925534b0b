"""Failpoints: named places where a test makes the process exit, raise or wait. Off, each costs a look at an empty dict.

SLUICE_FAILPOINTS="table.committed=exit audit=raise" sets them; `exit` kills the process as SIGKILL would.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Final

POINTS: Final = {
    "leased": "the lease is held, and nothing else is done",
    "planned": "a batch is in the checkpoint's offsets, and nothing of it in the table",
    "table.committed": "the batch is in the table, and not in the checkpoint's commits",
    "audit": "a batch is committed, and its row is not in ops.batches",
    "audited": "its row is in ops.batches, and the cursor does not say so",
    "checks": "everything is accounted for, and nothing judged",
    "judged": "the checks are done, and the report is not written",
    "reported": "the report is written, and the process has not ended",
}
"""Each place, by what is true there."""
ACTIONS: Final = ("exit", "raise", "wait")


class Failure(RuntimeError):
    """Raised on purpose."""


def _set(text: str) -> dict[str, str]:
    found = dict(pair.split("=") for pair in text.split())
    unknown = [f"{name}={action}" for name, action in found.items() if name not in POINTS or action not in ACTIONS]
    if unknown:
        raise ValueError(f"SLUICE_FAILPOINTS: {unknown} are not among {list(POINTS)} with one of {list(ACTIONS)}")
    return found


ACTIVE = _set(os.environ.get("SLUICE_FAILPOINTS", ""))


def at(name: str) -> None:
    """Do here what is set for this place, if anything is."""
    action = ACTIVE.get(name)
    if action == "exit":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "raise":
        raise Failure(f"failpoint {name}")
    while ACTIVE.get(name) == "wait":
        time.sleep(0.05)
