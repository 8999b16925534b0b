"""A key's value as a person types it, as the value of its column."""

from __future__ import annotations

from spark_jobs.contract.errors import StateUnreadable
from spark_jobs.contract.field_types import FIELD_TYPES, Value


def parse(column: str, text: str, kind: str) -> Value:
    """`kind` is a Spark SQL type. Times without a zone are UTC. Raises StateUnreadable where the text is no such value."""
    if kind not in FIELD_TYPES:
        raise StateUnreadable(f"--key {column}: a {kind} cannot be asked for.", "Name the key's other columns.")
    try:
        return FIELD_TYPES[kind].parse(text)
    except ValueError:
        what = f"--key {column} is {text!r}: it is no {kind}."
        raise StateUnreadable(what, f"Write it as {FIELD_TYPES[kind].example}.") from None
