"""Parses a key's value from the command line to the type of its column."""

from __future__ import annotations

from spark_jobs.errors import StateUnreadable
from spark_jobs.values.field_types import Value, field_type


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
