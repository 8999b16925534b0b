"""Data error: Spark could not compute an expression of the spec for a value: a division by zero, a
failed cast, an overflow. Or a row breaks a constraint of the table.

Spark runs in ANSI mode, in which these are errors. By the SQL standard their SQLSTATE has class 22,
data exception; raise_error, which the gap of a session calls too, has P0001.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from spark_jobs.errors import ExpressionFailed, RowRefused
from spark_jobs.errors.base import visible
from spark_jobs.messages.withheld import WITHHELD
from spark_jobs.settings.installation import record_bytes
from spark_jobs.spec import Pipeline

_STATE = re.compile(r"SQLSTATE: (?:22[0-9A-Z]{3}|P0001)\b")
_PYTHON = "An exception was thrown from the Python worker"
_CONDITION = re.compile(r"\[(?P<condition>[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\] ")
_FRAGMENT = re.compile(r"^== SQL [^\n]*==\n(?P<text>.*?)\n *\^+", re.MULTILINE | re.DOTALL)
_ADVICE = re.compile(r" *(?:Use [`']try_\w+[`'][^.]*\.|If necessary,? set .*)", re.DOTALL)
_CONDITION_WITHIN = re.compile(r": [A-Z][A-Z0-9_]{2,}(?:\.[A-Z0-9_]+)*: ")
_SUM = re.compile(r"\bsum\b", re.IGNORECASE)
_BEFORE_STATE = re.compile(r"step \d+ \([^)]+\)")
"""How steps/chain.py and steps/latest.py begin their own messages."""
MOST = 300
"""Characters of Spark's message that are kept: it may contain the value."""
REPEATS = "The next run repeats the batch on the same state."


class DataError(NamedTuple):
    """What Spark says of it."""

    condition: str
    """Spark's name of the error, such as DIVIDE_BY_ZERO."""
    message: str
    fragment: str
    """The SQL that failed; empty if Spark does not know it."""

    @classmethod
    def of(cls, text: str) -> DataError | None:
        """From the text of Spark's error; None if it is another kind of error, or one of Python
        code.
        """
        if (state := _STATE.search(text)) is None or _PYTHON in text:
            return None
        before = text[: state.start()]
        starts = [*_CONDITION.finditer(before)]
        if not starts:
            return None
        # The last one: Spark's wrappers come before it. A value that looks like a name of an error
        # may be taken for it; that changes the words only.
        start = starts[-1]
        message = _ADVICE.sub("", before[start.end() :]).strip().rstrip(".")
        fragment = _FRAGMENT.search(text, state.end())
        return cls(
            start["condition"],
            " ".join(message.split())[:MOST],
            " ".join(fragment["text"].split()) if fragment else "",
        )

    def where(self, spec: Pipeline) -> str:
        """The step and the field with that SQL, such as "step 2 (aggregate), measures['x']: sum(a /
        b)".

        Of some errors Spark does not know the SQL: then every field that it may be from.
        """
        fields = _expressions(spec)
        if before_state := _BEFORE_STATE.match(self.message):
            return before_state[0]
        own = [(name, text) for name, text in fields if self._is_of(name, text)]
        if own:
            return ": ".join(own[0])
        if self.fragment or len(fields) != 1:
            return self.fragment or " or ".join(name for name, _ in fields) or "a step"
        return ": ".join(fields[0])

    def _is_of(self, name: str, text: str) -> bool:
        if not self.fragment:  # steps/aggregate.py begins its own message with the field's name
            return name.endswith(".gap_sql") and self.message.startswith("gap_sql ")
        return self.fragment in text or text in self.fragment

    def of_sums(self, spec: Pipeline) -> str:
        """`where`, of a sum over several records that overflows: Spark does not know its SQL."""
        sums = [(name, text) for name, text in _expressions(spec) if _SUM.search(text)]
        if self.fragment or len(sums) != 1:
            return self.where(spec)
        return ": ".join(sums[0])

    def reason(self, spec: Pipeline) -> str:
        """Why a record is malformed on which it happens."""
        where = self.where(spec)
        return self._told(spec, where, self.message.removeprefix(f"{where}: "))

    def reason_of_sums(self, spec: Pipeline, more: str) -> str:
        """Why the records of one group are malformed, on whose sum it happens."""
        return self._told(spec, self.of_sums(spec), f"{self.message} {more}")

    def _told(self, spec: Pipeline, where: str, message: str) -> str:
        """Without the message, which may quote a value, where some tell of persons."""
        said = WITHHELD if spec.inputs.personal else message
        return f"{where}: {self.condition}: {said}"

    def failed(
        self, pipeline: str, where: str, why: str, then: str = REPEATS, first: str = ""
    ) -> ExpressionFailed:
        """The error of a run that cannot go on without the expression. `why` says so, and `then`
        what comes after its correction; `first` is what a person can do instead.
        """
        return ExpressionFailed.expression_failed(
            pipeline=pipeline,
            where=where,
            condition=self.condition,
            message=self.message,
            why=why,
            first=first,
            then=then,
        )


def fails_still(reason: str, spec: Pipeline) -> bool:
    """Whether a record with this reason is malformed because an expression fails on it, and the
    spec still has that expression, as far as the reason tells: of code in logic.py it does not.
    """
    if _CONDITION_WITHIN.search(reason) is None:
        return False
    return not any(
        reason.startswith(f"{name}: ") and not reason.startswith(f"{name}: {text}: ")
        for name, text in _expressions(spec)
    )


def _expressions(spec: Pipeline) -> list[tuple[str, str]]:
    steps = [*enumerate(spec.steps, 1)]
    fields = [
        (f"step {number} ({step.kind}), {sql.field}", " ".join(sql.text.split()))
        for number, step in steps
        for sql in step.sql_texts
    ]
    code = [
        (f"step {number} ({step.kind})", f"{step.logic} in logic.py")
        for number, step in steps
        if not step.stateful and step.logic
    ]
    return fields + code


_CHECK = re.compile(
    r"\[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES\] CHECK constraint (?P<name>\S+) (?P<rule>.+?) "
    r"violated by row with values:(?P<row>(?:\s* - [^\n]+)*)"
)
_NULL = re.compile(
    r"\[DELTA_NOT_NULL_CONSTRAINT_VIOLATED\] NOT NULL constraint violated for column: (?P<name>\S+)"
)
_VALUE = re.compile(r" - (?P<column>[^\n]+?) : (?P<value>[^\n]*)")
SHOWN: Final = 200
"""Characters of a value."""


def constraint_error(text: str, pipeline: str) -> RowRefused | None:
    """From the text of Spark's error; None if it is of another kind. Of the row's values only the
    columns, unless bytes of records may be shown.
    """
    if found := _CHECK.search(text):
        what = f"CHECK constraint {found['name']} {found['rule']}"
        values = [(each["column"], each["value"]) for each in _VALUE.finditer(found["row"])]
    elif found := _NULL.search(text):
        what, values = "NOT NULL", [(found["name"].rstrip("."), "null")]
    else:
        return None
    shown = record_bytes()
    row = ", ".join(
        f"{visible(column, SHOWN)} {visible(value, SHOWN)}" if shown else visible(column, SHOWN)
        for column, value in values
    )
    hidden = "" if shown else " (their values: SLUICE_RECORD_BYTES=shown)"
    return RowRefused.constraint_broken(
        pipeline=pipeline,
        constraint=visible(what, SHOWN),
        row=row,
        hidden=hidden,
    )
