"""Columns as a spec can know them: those that enter and leave a step, by name."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.contract.model import refuse

Columns = tuple[str, ...] | None
"""None where only Spark can know."""


def refuse_unknown(step: str, field: str, wanted: tuple[str, ...], columns: Columns) -> None:
    """Refuse names that are not among the columns which enter a step."""
    for name in wanted:
        if columns is not None and name not in columns:
            refuse(f"{step}.{field}", name, "no such column enters this step", f"Use one of {', '.join(columns)}")


def refuse_repeated(field: str, names: Iterable[str]) -> None:
    """Refuse a name that is there twice."""
    given = list(names)
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        refuse(field, twice, "it is there more than once", "Name each once")
