"""What a person is told of a pipeline: a problem that began, or one that is over.

Everything in it may come from elsewhere, so that it is text here: one line stays one line, and no
control character, Markdown or markup gets through.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from spark_jobs.errors import SluiceError
from spark_jobs.messages.report import CheckResult, Problem
from spark_jobs.messages.withheld import of_problem

LONGEST_LINE, LONGEST_SUBJECT, MOST_LINES = 1000, 150, 20
"""Characters, characters, problems. A chat refuses more than a few thousand characters."""
WARNING = "WARNING"
"""The code of a failed check that stops nothing."""

Problems = Mapping[str, str]
"""What tells a problem from others of its task -> what happened, on one line."""


class Message(NamedTuple):
    """A subject and lines, without a line break or a control character in any of them."""

    subject: str
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join((self.subject, "", *self.lines))


class Place(NamedTuple):
    """Where it happened."""

    pipeline: str
    dag: str
    task: str
    run: str
    log: str = ""
    """The address of the task's log, where Airflow knows it."""


def began(place: Place, problems: Problems) -> Message:
    """The message of problems of one task."""
    codes = " and ".join(sorted({key.split(maxsplit=1)[0] for key in problems}))
    return _message(place, codes, problems)


def is_over(place: Place, problems: Problems) -> Message:
    """The message that these problems of one task are over."""
    return _message(place, "over", {key: f"{key} is over." for key in problems})


def of_error(error: object) -> Problems:
    """The one problem of a task that failed; the error may be Airflow's text, or missing."""
    if not isinstance(error, SluiceError):
        # Not its text: any library may quote a record or a password in it.
        name = type(error).__name__ if isinstance(error, BaseException) else "TASK_FAILED"
        return {name: f"{name}: the task failed. Next: read its log."}
    told = of_problem(Problem.of(error))
    what = " ".join(told.what.split())
    return {error.code: f"{error.code}: {what} Next: {told.remedy or error.usual_remedy}"}


def of_checks(checks: tuple[CheckResult, ...]) -> Problems:
    """The checks that did not pass, with the number of failing rows and none of their values."""
    return {
        f"{code} {check.name}": _failed(code, check) for check in checks if (code := _code(check))
    }


def _failed(code: str, check: CheckResult) -> str:
    if check.outcome == "broken":
        return f"{code}: {check.name} could not be evaluated. Next: correct the check in the spec."
    rows = f", {check.unexpected:,} failing rows" if check.unexpected else ""
    return f"{code}: {check.name}{rows}." + (f" {check.about}." if check.about else "")


def _code(check: CheckResult) -> str:
    if check.outcome == "broken":
        return "CHECK_BROKEN"
    if check.outcome == "passed" or check.severity == "info":
        return ""
    return WARNING if check.severity == "warning" else "CHECK_FAILED"


def _message(place: Place, what: str, problems: Problems) -> Message:
    lines = [_line(line, LONGEST_LINE) for _, line in sorted(problems.items())]
    if len(lines) > MOST_LINES:
        lines[MOST_LINES:] = [f"and {len(lines) - MOST_LINES} more"]
    shown = "checks" if place.task.startswith("check_") else "runs"
    where = f"DAG {place.dag}, task {place.task}, run {place.run}"
    return Message(
        _line(f"[Sluice] {place.pipeline}: {what}", LONGEST_SUBJECT),
        (
            *lines,
            f"See: sluice show {shown} {_line(place.pipeline, LONGEST_LINE)}",
            _line(f"Where: {where}", LONGEST_LINE),
            *([_line(f"Log: {place.log}", LONGEST_LINE)] if place.log else []),
        ),
    )


def _line(text: str, longest: int) -> str:
    safe = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode()
        for c in " ".join(text.split())[: longest + 1]
    )
    return safe if len(safe) <= longest else safe[: longest - 1] + "…"
