"""Output modes: which steps go with which.

append    a row is written once, when it is final
update    a group that changed is written again: merged into the table on the columns that name it
complete  the whole result is written by every batch

Source: Spark's UnsupportedOperationChecker; where Sluice asks for more, the reason says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from spark_jobs.contract.model import refuse
from spark_jobs.contract.steps import Aggregate, Deduplicate, Step
from spark_jobs.contract.windows import Session

OutputMode = Literal["append", "update", "complete"]


def refuse_impossible(mode: OutputMode, steps: Sequence[Step]) -> None:
    """Refuse steps that this mode cannot write, from within the pipeline's validator."""
    stateful = [step for step in steps if step.stateful]
    aggregate = next((step for step in stateful if isinstance(step, Aggregate)), None)
    if mode == "append":
        if aggregate is not None:
            _refuse_in_append(aggregate, stateful)
        return
    if aggregate is None or len(stateful) > 1:
        refuse("output_mode", mode, f"Spark writes {mode} for one stateful step alone, and Sluice for an Aggregate",
               "Use append, or leave the other stateful steps out")
    if steps[-1] is not aggregate:
        refuse("output_mode", mode, "a group that a later step leaves out would stay in the table as it was",
               "Put the Aggregate last")
    if mode == "update" and isinstance(aggregate.window, Session):
        refuse("output_mode", mode, "a session that grows changes its own bounds, and Spark does not write that as an update",
               "Use append, which writes a session when it has ended")


def _refuse_in_append(aggregate: Aggregate, stateful: Sequence[Step]) -> None:
    if aggregate.window is None:
        refuse("output_mode", "append", "it writes a group when it is final, and a group without a window never is",
               "Use update or complete, or give the Aggregate a window")
    if isinstance(aggregate.window, Session) and not isinstance(stateful[0], Deduplicate):
        refuse("steps", "session",
               "Spark lets a row behind the watermark open a session beside one that it belongs to and that is written already",
               "Put a Deduplicate before the Aggregate: it drops what is behind the watermark, and what came twice")


def unbounded(mode: OutputMode, steps: Sequence[Step]) -> list[str]:
    """The steps whose state nothing evicts in this mode."""
    return [step.kind for step in steps if step.stateful and (mode == "complete" or not step.bounded)]
