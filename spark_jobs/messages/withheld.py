"""Withheld: what runs and checks say, without the values of records that it may quote.

Values leave for people in four texts: a failed check's sample and what it observed, an error that
quotes an engine or the pipeline's code, the reason why a record is quarantined, and the rows of a
change. Whatever Airflow shows, stores or sends of them goes through here, unless
SLUICE_RECORD_BYTES is `shown`; a page asks for the person's right besides.
"""

from __future__ import annotations

import json
import re
from typing import Final

from spark_jobs.errors import SluiceError, by_code
from spark_jobs.messages.report import CheckResult, Problem, Report
from spark_jobs.settings.installation import record_bytes

WITHHELD: Final = "values withheld"
SETTING: Final = "SLUICE_RECORD_BYTES=shown shows values of records to those who may see them."
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"|'.*|\".*", re.DOTALL)
_CONDITION: Final = re.compile(r": \[?[A-Z][A-Z0-9_]{2,}(?:\.[A-Z0-9_]+)*\]?: ")
_PLAIN: Final = re.compile(
    r"(?:\w+: )?(?:"
    r"key '\w+' is in the wrong case: the field is '\w+'"  # as the field's, but for its case
    r"|event time is [^'\"]* past the [a-z A-Z]+; at most [^'\"]* is allowed)"
)
"""Reasons that have nothing of a value which is not shown anyway."""


def for_tasks(report: Report) -> Report:
    """The report as Airflow's tasks log it, pass it on and fail by it."""
    return report if record_bytes() else of_report(report)


def check_for_tasks(check: CheckResult) -> CheckResult:
    """One result likewise."""
    return check if record_bytes() else of_check(check)


def of_report(report: Report) -> Report:
    """The report without values."""
    return report.model_copy(
        update={
            "checks": tuple(map(of_check, report.checks)),
            "problem": report.problem and of_problem(report.problem),
        }
    )


def of_check(check: CheckResult) -> CheckResult:
    """The result without its failing values, and without what was observed where that is neither a
    number nor a count of rows. Metrics of a run are no record's values.
    """
    return check.model_copy(
        update={
            "sample": WITHHELD if check.sample else "",
            "observed": observed(check.observed) if check.suite == "output" else check.observed,
        }
    )


def observed(text: str) -> str:
    """What a check over rows has observed, if it is a number, null or a count of rows.

    >>> observed("17"), observed('{"rows": 3}'), observed('["UA", "ZZ"]'), observed("")
    ('17', '{"rows": 3}', 'values withheld', '')
    """
    try:
        found = json.loads(text) if text else None
    except ValueError:
        return WITHHELD
    counted = isinstance(found, dict) and found.keys() == {"rows"}
    return text if found is None or isinstance(found, int | float) or counted else WITHHELD


def of_problem(problem: Problem) -> Problem:
    """The problem without what it may quote of a value. Where its reason is not known, in the words
    of its kind, if any reason of that kind may quote one.
    """
    kind = by_code(problem.code)
    reason = kind.reasons().get(problem.reason)
    if reason is None or {*reason.parameters} != problem.parameters.keys():
        if not quotes(kind):
            return problem
        return Problem(code=problem.code, what=said(kind), remedy=f"{kind.usual_remedy} {SETTING}")
    if not reason.quoted:
        return problem
    shown = problem.parameters | dict.fromkeys(reason.quoted, WITHHELD)
    what, remedy = reason.texts(shown, kind)
    return Problem(
        code=problem.code,
        reason=problem.reason,
        parameters=shown,
        what=what,
        remedy=f"{remedy} {SETTING}",
    )


def quotes(kind: type[SluiceError]) -> bool:
    """Whether errors of this kind may quote a value; of one that is not known, they may."""
    return kind is SluiceError or any(each.quoted for each in kind.reasons().values())


def said(kind: type[SluiceError]) -> str:
    """What every error of this kind says."""
    return " ".join((kind.__doc__ or "").split("\n\n")[0].split())


def of_reason(reason: str) -> str:
    """Why a record is in quarantine, without what may be quoted of it.

    >>> of_reason("malformed: Expected `int`, got `str` - at `$.flight`")
    'malformed: Expected `int`, got `str` - at `$.flight`'
    >>> of_reason("malformed: step 1 (transform), a: int(x): CAST_INVALID_INPUT: The value 'Ann'")
    'malformed: step 1 (transform), a: int(x): CAST_INVALID_INPUT: values withheld'
    >>> of_reason("malformed: Invalid enum value 'Ann' - at `$.name`")
    'malformed: Invalid enum value … - at `$.name`'
    """
    if _PLAIN.fullmatch(reason):
        return reason
    if (found := _CONDITION.search(reason)) is not None:
        return f"{reason[: found.end()]}{WITHHELD}"
    return _QUOTED.sub("…", reason)
