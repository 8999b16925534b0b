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
from spark_jobs.contract.steps import Aggregate, GroupState, Step
from spark_jobs.contract.windows import Session

OutputMode = Literal["append", "update", "complete"]


def refuse_impossible(mode: OutputMode, steps: Sequence[Step]) -> None:
    """Refuse steps that this mode cannot write, from within the pipeline's validator."""
    stateful = [step for step in steps if step.stateful]
    if mode == "append":
        for before, step in zip([None, *stateful], stateful, strict=False):
            if isinstance(step, Aggregate):
                _refuse_in_append(step, before)
        return
    if len(stateful) != 1 or not isinstance(stateful[0], Aggregate | GroupState):
        refuse("output_mode", mode, f"Sluice writes {mode} for one Aggregate or GroupState, as the only stateful step",
               "Use append, or leave the other stateful steps out")
    if steps[-1] is not stateful[0]:
        refuse("output_mode", mode, "a row that a later step leaves out would stay in the table as it was",
               f"Put the {stateful[0].kind} last")
    if isinstance(stateful[0], GroupState):
        _refuse_group_state(mode, stateful[0])
    elif mode == "update" and isinstance(stateful[0].window, Session):
        refuse("output_mode", mode, "a session that grows changes its own bounds, and Spark does not write that as an update",
               "Use append, which writes a session when it has ended")


def _refuse_group_state(mode: OutputMode, step: GroupState) -> None:
    if mode == "complete":
        refuse("output_mode", mode, "Spark keeps no result of a GroupState that it could write whole", "Use append or update")
    missing = [key for key in step.keys if key not in step.columns_after(None)]  # type: ignore[operator]
    if missing:
        refuse("GroupState.output", missing, "a row takes the place of its key's last one, and the key is not written",
               "Add the keys to output, or use append")


def _refuse_in_append(aggregate: Aggregate, before: Step | None) -> None:
    if aggregate.window is None:
        refuse("output_mode", "append", "it writes a group when it is final, and a group without a window never is",
               "Use update or complete, or give the Aggregate a window")
    if isinstance(aggregate.window, Session) and before is None:
        refuse("steps", "session",
               "Spark lets a row behind the watermark open a session beside one that it belongs to and that is written already",
               "Put a Deduplicate before the Aggregate: it drops what is behind the watermark, and what came twice")


def unbounded(mode: OutputMode, steps: Sequence[Step]) -> list[str]:
    """The steps whose state nothing evicts in this mode."""
    return [step.kind for step in steps if step.stateful and (mode == "complete" or step.evicted_by == "nothing")]
