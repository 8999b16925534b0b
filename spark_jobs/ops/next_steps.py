"""Next steps: the commands that follow from a run, the first one first."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.messages.kind import STAGED_KINDS
from spark_jobs.messages.report import CheckResult
from spark_jobs.ops.json_of_tables import NextStep, RunLine


def next_steps(
    line: RunLine, checks: Sequence[CheckResult], *, ranged: bool = True
) -> tuple[NextStep, ...]:
    """At least one. None of them changes anything without --execute. `ranged`: whether a range of
    the table can be computed by itself, as far as its spec is known.
    """
    name = line.pipeline
    repairs = NextStep(why="see repairs", command=f"sluice show repairs {name}")
    found = NextStep(
        why="see what the checks found, with the failing values",
        command=f"sluice show checks {name}",
    )
    if line.problem == "CHECK_FAILED" and line.kind in STAGED_KINDS:
        return (found, repairs)  # nothing of it is in the table: there is nothing to accept
    if line.problem == "CHECK_FAILED":
        red = [
            each.name for each in checks if each.outcome != "passed" and each.severity == "critical"
        ]
        named = " ".join(f"--check '{each}'" for each in red) or "--check NAME"
        return (
            found,
            NextStep(
                why="publish all the same, if a person has looked at it",
                command=f"sluice accept {name} {named} --reason WHY",
            ),
        )
    if line.status == "failed":
        return (
            NextStep(
                why="see what the next run would do, and what refuses it",
                command=f"sluice plan {name}",
            ),
            NextStep(why="look for damaged files", command=f"sluice doctor {name}"),
        )
    look = NextStep(why="see its batches", command=f"sluice show batches {name}")
    if line.kind in STAGED_KINDS:
        return (repairs, look)
    return (look, *_for_late(name, ranged=ranged)) if line.late else (look,)


def _for_late(name: str, *, ranged: bool) -> tuple[NextStep, ...]:
    if not ranged:
        late = f"sluice show late {name}"
        return (
            NextStep(why="see the late records", command=late),
            NextStep(
                why="see what computes the whole table with them: no range can be by itself",
                command=f"sluice rebuild {name}",
            ),
        )
    return (
        NextStep(why="see which days late records wait for", command=f"sluice coverage {name}"),
        NextStep(why="see what a repair would change", command=f"sluice repair {name}"),
    )
