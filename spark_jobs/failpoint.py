"""Failpoints: named places where a test makes the process exit, raise or wait. Off, each costs a look at an empty dict.

SLUICE_FAILPOINTS="table.committed=exit audit=raise" sets them; `exit` kills the process as SIGKILL would.
SLUICE_FAILPOINTS_WAITING names a folder: a `wait` puts a file with the place's name there, and ends when the file is removed.
So another process knows that this one is held at that place, and lets it go; a place that let go holds no later batch.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
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
WAITING = os.environ.get("SLUICE_FAILPOINTS_WAITING")


def at(name: str) -> None:
    """Do here what is set for this place, if anything is."""
    action = ACTIVE.get(name)
    if action == "exit":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "raise":
        raise Failure(f"failpoint {name}")
    elif action == "wait":
        _wait(name)


def _wait(name: str) -> None:
    held = Path(WAITING, name) if WAITING else None
    if held:
        held.touch()
    while ACTIVE.get(name) == "wait" and (held is None or held.exists()):
        time.sleep(0.05)
    ACTIVE.pop(name, None)
