"""Rows that were read from a step's state, with named columns."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from spark_jobs.spec.steps.expires import Variable

Role = Literal["key", "map key", "value"]
"""key and map key identify a row; value is the stored value."""
Row = tuple[Any, ...]  # Any: the values of a Spark Row


class Table(NamedTuple):
    """Rows of one variable; timestamps have a zone.

    `total` also counts rows that were not fetched.
    """

    variable: Variable
    columns: tuple[tuple[str, Role], ...]
    rows: tuple[Row, ...]
    total: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def parts(self, row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
        """The key columns and the value columns of a row: column -> value."""
        keys: dict[str, Any] = {}
        values: dict[str, Any] = {}
        for (name, role), value in zip(self.columns, row, strict=True):
            (values if role == "value" else keys)[name] = value
        return keys, values
