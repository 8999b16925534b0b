"""Parses a key's value from the command line to the type of its column."""

from __future__ import annotations

from spark_jobs.errors import StateUnreadable
from spark_jobs.values.field_types import FIELD_TYPES, Value


def parse(column: str, text: str, kind: str) -> Value:
    """The value of `text`, of Spark SQL type `kind`.

    Times without a zone are UTC. Raises StateUnreadable.
    """
    if kind not in FIELD_TYPES:
        raise StateUnreadable(
            f"--key {column}: --key does not support the type {kind}.",
            "Name other columns of the key.",
        )
    try:
        return FIELD_TYPES[kind].parse(text)
    except ValueError:
        what = f"--key {column} is {text!r}, which is not a {kind}."
        raise StateUnreadable(what, f"Write it as {FIELD_TYPES[kind].example}.") from None
