"""Output modes: which steps go with which.

append    a row is written once, when it is final
update    a group that changed is written again: merged into the table on the columns that name it
complete  the whole result is written by every batch

Source: Spark's UnsupportedOperationChecker; where Sluice asks for more, the reason says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

from spark_jobs.contract.model import refuse
from spark_jobs.contract.steps import Aggregate, GroupState, Stateful, Step
from spark_jobs.contract.windows import Session

OutputMode = Literal["append", "update", "complete"]


def refuse_impossible(mode: OutputMode, steps: Sequence[Step]) -> None:
    """Refuse steps that this mode cannot write, from within the pipeline's validator."""
    stateful = [step for step in steps if step.stateful]
    match mode:
        case "append":
            for before, step in zip([None, *stateful], stateful, strict=False):
                if isinstance(step, Aggregate):  # the other steps write each row once, when it is final
                    _refuse_in_append(step, before)
        case "update" | "complete":
            _refuse_other_than_append(mode, steps, stateful)
        case _:
            assert_never(mode)


def _refuse_other_than_append(mode: Literal["update", "complete"], steps: Sequence[Step], stateful: Sequence[Stateful]) -> None:
    if len(stateful) != 1 or stateful[0].update_key is None:
        refuse("output_mode", mode, f"Sluice writes {mode} for one Aggregate or GroupState, as the only stateful step",
               "Use append, or leave the other stateful steps out")
    if steps[-1] is not stateful[0]:
        refuse("output_mode", mode, "a row that a later step leaves out would stay in the table as it was",
               f"Put the {stateful[0].kind} last")
    match stateful[0]:
        case GroupState() as step:
            _refuse_group_state(mode, step)
        case Aggregate(window=Session()) if mode == "update":
            refuse("output_mode", mode,
                   "a session that grows changes its own bounds, and Spark does not write that as an update",
                   "Use append, which writes a session when it has ended")
        case Aggregate():
            pass
        case _:
            assert_never(stateful[0])


def _refuse_group_state(mode: Literal["update", "complete"], step: GroupState) -> None:
    if mode == "complete":
        refuse("output_mode", mode, "Spark keeps no result of a GroupState that it could write whole", "Use append or update")
    missing = [key for key in step.keys if key not in step.output_columns]
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
    return [step.kind for step in steps if step.stateful and (keeps_all_state(mode) or step.evicted_by == "nothing")]


def keeps_all_state(mode: OutputMode) -> bool:
    """Whether Spark evicts nothing in this mode, and drops no late row but from a session."""
    match mode:
        case "complete":
            return True
        case "append" | "update":
            return False
        case _:
            assert_never(mode)


def replaces_table(mode: OutputMode) -> bool:
    """Whether each batch replaces all rows of the table with the whole result."""
    match mode:
        case "complete":
            return True
        case "append" | "update":
            return False
        case _:
            assert_never(mode)


def writes_last_of_key(mode: OutputMode) -> bool:
    """Whether of a batch's rows with one key the last alone is written."""
    match mode:
        case "update":
            return True
        case "append" | "complete":
            return False
        case _:
            assert_never(mode)
