"""Keys: those of a step's state, as a person types them and as the step's columns have them. Needs
no Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import StateUnreadable
from spark_jobs.values.field_types import Value, field_type

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.columns import Columns


def key_columns(spec: Pipeline, number: int) -> Columns:
    """The columns of a step's key; None if only Spark knows them."""
    columns: Columns = spec.inputs.columns
    for step in spec.steps[: number - 1]:
        columns = step.columns_after(columns)
    return spec.steps[number - 1].state_key(columns)


def key_types(spec: Pipeline, number: int) -> dict[str, str]:
    """Column -> Spark SQL type, where it is known without Spark: for key columns, and perhaps for
    other columns.
    """
    types = spec.inputs.types
    for step in spec.steps[: number - 1]:
        types = step.types_after(types)
    return types | {"window_start": "timestamp", "window_end": "timestamp"}


def parse_keys(arguments: tuple[str, ...]) -> dict[str, str]:
    """Column -> text, from arguments COLUMN=VALUE. Raises StateUnreadable."""
    keys: dict[str, str] = {}
    for argument in arguments:
        column, equals, value = argument.partition("=")
        if not equals or not column:
            raise StateUnreadable.key_no_pair(argument=argument)
        if column in keys:
            raise StateUnreadable.key_twice(column=column)
        keys[column] = value
    return keys


def parse(column: str, text: str, kind: str) -> Value:
    """The value of `text`, of Spark SQL type `kind`.

    Times without a zone are UTC. Raises StateUnreadable.
    """
    found = field_type(kind)
    if found is None:
        raise StateUnreadable.key_type_unsupported(column=column, kind=kind)
    try:
        return found.parse(text)
    except (ValueError, ArithmeticError):
        raise StateUnreadable.key_value_unfit(
            column=column, value=text, kind=kind, example=found.example
        ) from None
