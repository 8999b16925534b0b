"""Output: what a pipeline's table has, for another one that reads it as a topic."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final, cast

from spark_jobs.registry import find as registry
from spark_jobs.spec import Field, Pipeline
from spark_jobs.spec.columns import Columns
from spark_jobs.spec.model import refuse
from spark_jobs.values import type_tree

BOUNDS: Final = ("window_start", "window_end")
CALL: Final = re.compile(r"(\w+)\(\s*(\*|\w+)\s*\)")
COUNTS: Final = ("count", "count_if", "approx_count_distinct")
SAME: Final = ("min", "max", "first", "last", "any_value")
SUMS: Final = ("sum", "try_sum")
SUM_OF: Final = {
    **dict.fromkeys(("smallint", "int", "bigint"), "bigint"),
    **dict.fromkeys(("float", "double"), "double"),
}


def fields_of(pipeline: str, event_time: str) -> tuple[Field, ...]:
    """The columns of its output. Raises SpecInvalid: of a table that follows a key, whose rows
    change; of one of which only Spark knows the columns; of pipelines that read each other.
    """
    spec = registry.load(pipeline)
    if spec.keyed or spec.output_mode != "append":
        refuse(
            "of",
            pipeline,
            "its rows are replaced as keys and groups change, so they are no stream",
            f"Read it beside the stream: Lookup(dimension=Dimension(table='{pipeline}', ...))",
        )
    types = output_types(spec)
    if unknown := sorted(name for name, kind in (types or {"all": ""}).items() if not kind):
        refuse(
            "of",
            pipeline,
            f"only Spark knows the types of its columns: {', '.join(unknown)}",
            "Declare the ones that you read: fields=(Field(name=..., type=...), ...)",
        )
    return tuple(
        Field(name=name, type=kind, required=name == event_time)
        for name, kind in (types or {}).items()
    )


def output_types(spec: Pipeline) -> dict[str, str] | None:
    """Column of the table -> its type; empty where only Spark knows it. None where only Spark knows
    the columns.
    """
    columns: Columns = spec.inputs.columns
    types, time = spec.inputs.types, cast("str | None", spec.inputs.event_time)
    for step in spec.steps:
        columns, time = step.columns_after(columns), step.time_after(time)
        own = dict.fromkeys((*BOUNDS, *filter(None, (time,))), "timestamp")
        measured = partial(_measured, types)
        known = step.carried(types, measured, lambda field: field.type) | step.types_after(types)
        types = {name: known.get(name) or own.get(name, "") for name in columns or ()}
    return None if columns is None else types


def _measured(types: Mapping[str, str], sql: str) -> str:
    """The type of a measure; empty if only Spark knows it.

    >>> _measured({"price": "decimal(10,2)", "n": "int"}, "sum(price)")
    'decimal(20,2)'
    >>> _measured({"n": "int"}, "max(n)"), _measured({}, "count(*)"), _measured({}, "sum(n) + 1")
    ('int', 'bigint', '')
    """
    found = CALL.fullmatch(sql.strip())
    function, column = (found[1].lower(), found[2].lower()) if found else ("", "")
    kind = {name.lower(): each for name, each in types.items()}.get(column, "")
    if function in COUNTS:
        return "bigint"
    if function in SAME or not kind:
        return kind if function in SAME else ""
    return _sum(kind) if function in SUMS else ""


def _sum(kind: str) -> str:
    tree = type_tree.parsed(kind)
    if isinstance(tree, type_tree.Decimal):
        return f"decimal({min(38, tree.precision + 10)},{tree.scale})"
    return SUM_OF.get(kind, "")
