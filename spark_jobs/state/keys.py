"""The keys of a step's state: what the spec knows of their columns, and which of them a person names."""

from __future__ import annotations

from spark_jobs.contract.columns import Columns
from spark_jobs.contract.errors import StateUnreadable
from spark_jobs.contract.spec import Pipeline


def key_columns(spec: Pipeline, number: int) -> Columns:
    """The columns of a step's key; None where only Spark can know them."""
    columns: Columns = spec.topic.columns
    for step in spec.steps[: number - 1]:
        columns = step.columns_after(columns)
    return spec.steps[number - 1].state_key(columns)


def key_types(spec: Pipeline, number: int) -> dict[str, str]:
    """The types of the columns that a step's key can have, of those that are known without Spark."""
    types = {field.name: field.type for field in spec.topic.fields}
    for step in spec.steps[: number - 1]:
        types = step.types_after(types)
    return types | {"window_start": "timestamp", "window_end": "timestamp"}


def named(given: tuple[str, ...]) -> dict[str, str]:
    """Column -> text, of words COLUMN=VALUE. Raises StateUnreadable."""
    keys: dict[str, str] = {}
    for word in given:
        column, equals, value = word.partition("=")
        if not equals or not column:
            raise StateUnreadable(f"--key is {word!r}: it names no column and value.", "Write for example --key carrier=AA.")
        if column in keys:
            raise StateUnreadable(f"--key names {column} twice.", "Name each column once.")
        keys[column] = value
    return keys
