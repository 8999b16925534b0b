"""Origin: the columns of the topic from which a column of the output is computed, as far as a spec
says it without Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from spark_jobs.spec.sql.types import names_in

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
