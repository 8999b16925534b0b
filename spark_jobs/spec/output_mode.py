"""Output modes: which steps each one allows.

append    a row is written once, when it is final
update    a changed group is written again: merged into the table on the columns that identify it
complete  the whole result is written by every batch

Source: Spark's UnsupportedOperationChecker. Where Sluice allows less than Spark, the reason says
so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, assert_never

from spark_jobs.spec.model import refuse
from spark_jobs.spec.steps.step import Step

OutputMode = Literal["append", "update", "complete"]


def refuse_impossible(mode: OutputMode, steps: Sequence[Step]) -> None:
    """Refuse steps that this mode cannot write. The pipeline's validator calls it."""
    stateful = [step for step in steps if step.stateful]
    match mode:
        case "append":
            for at, step in enumerate(stateful):
                step.refuse_mode(mode, first=at == 0)
        case "update" | "complete":
            _refuse_other_than_append(mode, steps, stateful)
        case _:
            assert_never(mode)


def _refuse_other_than_append(
    mode: Literal["update", "complete"], steps: Sequence[Step], stateful: Sequence[Step]
) -> None:
    if len(stateful) != 1 or stateful[0].update_key is None:
        refuse(
            "output_mode",
            mode,
            f"Sluice writes {mode} for one Aggregate or GroupState, as the only stateful step",
            "Use append, or remove the other stateful steps",
        )
    if steps[-1] is not stateful[0]:
        refuse(
            "output_mode",
            mode,
            "a later step cannot remove a row that an earlier batch has written",
            f"Put the {stateful[0].kind} last",
        )
    stateful[0].refuse_mode(mode, first=True)


def unbounded(mode: OutputMode, steps: Sequence[Step]) -> list[str]:
    """The kinds of the steps whose state nothing evicts in this mode."""
    return [
        step.kind
        for step in steps
        if step.stateful and (mode_facts(mode).keeps_all_state or step.evicted_by == "nothing")
    ]


class ModeFacts(NamedTuple):
    """What else an output mode means for a pipeline."""

    keeps_all_state: bool
    """Whether Spark evicts no state in this mode. It then drops late rows from sessions only."""
    replaces_table: bool
    """Whether each batch replaces all rows of the table with the whole result."""
    writes_last_of_key: bool
    """Whether a batch writes only the last of several rows with the same key."""
    writes_evicted: bool
    """Whether a group is written when Spark evicts it, and never before."""


def mode_facts(mode: OutputMode) -> ModeFacts:
    """The facts of a mode. mypy names this function when a mode is added."""
    match mode:
        case "append":
            return ModeFacts(
                keeps_all_state=False,
                replaces_table=False,
                writes_last_of_key=False,
                writes_evicted=True,
            )
        case "update":
            return ModeFacts(
                keeps_all_state=False,
                replaces_table=False,
                writes_last_of_key=True,
                writes_evicted=False,
            )
        case "complete":
            return ModeFacts(
                keeps_all_state=True,
                replaces_table=True,
                writes_last_of_key=False,
                writes_evicted=False,
            )
        case _:
            assert_never(mode)
