"""The names of the columns that enter and leave a step, as far as a spec knows them without Spark,
and the topic's columns from which each is computed.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import AfterValidator

from spark_jobs.spec.model import refuse
from spark_jobs.spec.sql import names_in
from spark_jobs.values.own_columns import is_own

Columns = tuple[str, ...] | None
"""None where only Spark can resolve them."""


def _quotable(given: str) -> str:
    if "`" in given or not given:
        refuse("column", given, "Sluice writes the name into SQL, in back-quotes", "Rename it")
    return given


ColumnName = Annotated[str, AfterValidator(_quotable)]
"""A column that Sluice names in SQL of its own, and that only Spark may know."""


def one_of(wanted: Iterable[str], columns: Sequence[str]) -> str:
    """What would be right for names that no column has: first the nearest ones.

    >>> one_of(["carier"], ["carrier", "delay"])
    'Did you mean carrier? There are carrier, delay'
    """
    near = [close for name in wanted for close in difflib.get_close_matches(name, columns, n=1)]
    there = ", ".join(columns)
    return f"Did you mean {', '.join(near)}? There are {there}" if near else f"Use one of {there}"


def in_words(columns: Iterable[str]) -> str:
    """The columns as Markdown."""
    return ", ".join(f"`{column}`" for column in columns)


def refuse_unknown(step: str, field: str, wanted: tuple[str, ...], columns: Columns) -> None:
    """Refuse each wanted name that is not among the columns that enter the step."""
    for name in wanted:
        if columns is not None and name not in columns:
            refuse(
                f"{step}.{field}",
                name,
                "the step's input has no such column",
                one_of([name], columns),
            )


def refuse_repeated(field: str, names: Iterable[str]) -> None:
    """Refuse a name that is listed more than once."""
    given = list(names)
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        refuse(field, twice, "it is listed more than once", "List each name once")


def refuse_own(field: str, names: Iterable[str]) -> None:
    """Refuse a name that one of Sluice's own columns has."""
    if taken := sorted({name for name in names if is_own(name)}):
        refuse(field, taken, "Sluice adds columns with these names", "Choose another name")


How = Literal["identity", "transformation", "aggregation"]
_ORDER: tuple[How, ...] = ("identity", "transformation", "aggregation")


class Origin(NamedTuple):
    """A column of the topic, and what became of it on its way."""

    column: str
    how: How


Origins = dict[str, tuple[Origin, ...]]
"""Column -> its origins. A column whose origins only Spark or the pipeline's code knows has no
entry.
"""


def computed(names: Iterable[str], origins: Origins, how: How) -> tuple[Origin, ...]:
    """The origins of a value that is computed in this way from these columns."""
    found: dict[str, How] = {}
    for name in names:
        for origin in origins.get(name, ()):
            before = found.get(origin.column, "identity")
            found[origin.column] = max(origin.how, how, before, key=_ORDER.index)
    return tuple(Origin(column, found[column]) for column in sorted(found))


def of_sql(sql: str, origins: Origins, how: How) -> tuple[Origin, ...]:
    """The origins of an expression's value: of the columns whose names stand in it."""
    names = names_in(sql)
    return computed((name for name in origins if name.lower() in names), origins, how)
