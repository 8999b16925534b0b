"""Failpoints: named places where a test makes the process exit, raise or wait.

One that is not set costs a dict lookup.

SLUICE_FAILPOINTS="table.committed=exit audit=raise" sets them; `exit` kills the process as SIGKILL
would. SLUICE_FAILPOINTS_WAITING names a folder. A `wait` creates a file there with the failpoint's
name, and ends when the file is removed: another process sees that this one waits, and releases it.
A failpoint that was released holds no later batch.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

POINTS: Final = {
    "leased": "the lease is held, and nothing else is done",
    "planned": "a batch is in the checkpoint's offsets, and nothing of it in the table",
    "table.committed": "the batch is in the table, and not in the checkpoint's commits",
    "audit": "a batch is committed, and its row is not in ops.batches",
    "audited": "its row is in ops.batches, and the cursor does not say so",
    "checks": "every batch is in ops.batches, and no check has run",
    "judged": "the checks are done, and the report is not written",
    "reported": "the report is written, and the process has not ended",
}
"""Failpoint of a drain -> what is true there."""
PUBLISH_POINTS: Final = {
    "fixed": "the event is in events/, and the published table does not show its version",
    "showing": "the published table shows a version before it, and goes on",
    "shown": "the published table shows it, and Airflow has no event of it",
}
"""Failpoint of the task publish -> what is true there."""
COLUMN_POINTS: Final = {
    "columns.added": "the table has the columns of newer fields, and identity.json does not say so"
}
"""Failpoint of a drain that adds columns -> what is true there."""
CHANGE_POINTS: Final = {
    "change.begun": "the note of a change is written, and nothing is changed",
    "change.stepped": "a step of a change is done, and its note does not say so",
}
"""Failpoint of every change of several steps (journal/) -> what is true there."""
ROWS_POINTS: Final = {
    "rows.noted": "rows.json has the new rows of a table, and inputs/ names the version before"
}
"""Failpoint of a drain that reads a table as a topic -> what is true there."""
FILE_POINTS: Final = {"files.noted": "files.json has the new files, and Spark has planned no batch"}
"""Failpoint of a drain that reads a folder of files -> what is true there."""
PIN_POINTS: Final = {
    "marked": "ops.outdated has what a newer version changes, and inputs/ names the version before"
}
"""Failpoint of a drain that finds a table beside the stream changed -> what is true there."""
REPLACING_POINTS: Final = {
    "replacing.read": "it is known which rows a batch replaces, and none of its files is written",
    "replacing.written": "its files are written, and they are not committed",
}
"""Failpoint of a batch that Spark puts into a Latest -> what is true there."""
REPLAY_POINTS: Final = {
    "replaying": "rows of a replay are in its output, and their batch is not committed"
}
"""Failpoint of a replay -> what is true there."""
STAGE_POINTS: Final = {
    "staging": "a repair holds the staging lease, and has computed nothing",
    "staged": "its rows are beside the table, no check has judged them, and there is no manifest",
    "staged.judged": "its manifest and its row in ops.repairs are written, and its report is not",
}
"""Failpoint of a stage -> what is true there."""
SWAP_POINTS: Final = {
    "swap.leased": "a swap, or an undo, holds the pipeline's lease, and has changed nothing",
    "swap.committed": "its rows are in the table, and ops.repairs does not say so",
    "swap.recorded": "ops.repairs and ops.merged say so, and the cursor is where it was",
}
"""Failpoint of a swap and of an undo -> what is true there."""
REPARTITION_POINTS: Final = {
    "repartition.leased": "a repartition holds the lease, and has changed nothing",
    "repartition.noted": "the note of a repartition is written, and Spark has not begun",
    "repartition.written": "Spark has committed the batch of a repartition, which does not count",
    "repartition.counts": "the batch of a repartition counts, and its note is still there",
}
"""Failpoint of a repartition -> what is true there."""
EVERY: Final = {
    **POINTS,
    **PUBLISH_POINTS,
    **FILE_POINTS,
    **COLUMN_POINTS,
    **PIN_POINTS,
    **ROWS_POINTS,
    **CHANGE_POINTS,
    **REPLACING_POINTS,
    **REPLAY_POINTS,
    **STAGE_POINTS,
    **SWAP_POINTS,
    **REPARTITION_POINTS,
}
ACTIONS: Final = ("exit", "raise", "wait")


class Failure(RuntimeError):
    """Raised by a failpoint that is set to `raise`."""


def _parse(text: str) -> dict[str, str]:
    actions = dict(pair.split("=") for pair in text.split())
    unknown = [
        f"{name}={action}"
        for name, action in actions.items()
        if name not in EVERY or action not in ACTIONS
    ]
    if unknown:
        raise ValueError(
            f"SLUICE_FAILPOINTS: {unknown} are not among {list(EVERY)} with one of {list(ACTIONS)}"
        )
    return actions


ACTIVE: dict[str, str | Callable[[], None]] = {**_parse(os.environ.get("SLUICE_FAILPOINTS", ""))}
"""Failpoint -> what is set for it: an action, or what this process does there."""
WAITING = os.environ.get("SLUICE_FAILPOINTS_WAITING")


def read_again() -> None:
    """Set what the environment says now: a process may do several runs."""
    global WAITING  # noqa: PLW0603 - tests set it, as they do ACTIVE
    ACTIVE.clear()
    ACTIVE.update(_parse(os.environ.get("SLUICE_FAILPOINTS", "")))
    WAITING = os.environ.get("SLUICE_FAILPOINTS_WAITING")


def at(name: str) -> None:
    """Do what is set for this failpoint: exit, raise Failure, or wait.

    Do nothing if it is not set.
    """
    action = ACTIVE.get(name)
    if action == "exit":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "raise":
        raise Failure(f"failpoint {name}")
    elif action == "wait":
        _wait(name)
    elif action:
        action()  # type: ignore[operator]  # no other text is set


def _wait(name: str) -> None:
    waiting = Path(WAITING, name) if WAITING else None
    if waiting:
        waiting.touch()
    while ACTIVE.get(name) == "wait" and (waiting is None or waiting.exists()):
        time.sleep(0.05)
    ACTIVE.pop(name, None)
