"""Correction: an expression of a spec that replaces another one on the same state.

The spec declares the old expression in compatible_expressions. Only the values may change that it
gives: a run compares the types of the state before and after (runs/resume/same_state.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from spark_jobs.spec import Pipeline

_SQL = ("where", "sql", "measures", "window")
_FIELD = re.compile(rf"steps\[(?P<index>\d+)\]\.(?P<name>{'|'.join(_SQL)})")
Texts = dict[str, str]
"""Name of an expression within a field -> its SQL."""


def replaced(field: str, was: object, now: object) -> tuple[str, ...] | None:
    """The old expressions that a change of this field of the fingerprint replaces; None if it
    changes more than expressions, or no expression.
    """
    match = _FIELD.fullmatch(field)
    if not match:
        return None
    before, after = _texts(was), _texts(now)
    if before is None or after is None or [*before] != [*after] or _rest(was) != _rest(now):
        return None
    return tuple(sql for name, sql in before.items() if after[name] != sql)


def expressions(field: str, value: object) -> tuple[str, ...]:
    """The expressions in a value of this field of the fingerprint."""
    texts = _texts(value) if _FIELD.fullmatch(field) else None
    return tuple((texts or {}).values())


def with_expressions(spec: Pipeline, stored: Mapping[str, object]) -> Pipeline:
    """The spec with the expressions that a stored fingerprint has, where only they differ."""
    steps = tuple(
        step.with_expressions({name: stored.get(f"steps[{at}].{name}") for name in _SQL})
        for at, step in enumerate(spec.steps)
    )
    return spec if steps == spec.steps else spec.model_copy(update={"steps": steps})


def _texts(value: object) -> Texts | None:
    match value:
        case str():
            return {"": value} if value != "(absent)" else None
        case {"gap_sql": str(gap)}:
            return {"gap_sql": gap}
        case list():
            return {str(name): str(sql) for name, sql in value}
        case _:
            return None


def _rest(value: object) -> object:
    return {**value, "gap_sql": ""} if isinstance(value, dict) else None
