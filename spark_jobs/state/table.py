"""What was read of a step's state: rows with named columns."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

Role = Literal["key", "map key", "value"]
"""key and map key name a row; value is what is remembered under it."""
Row = tuple[Any, ...]


class Variable(NamedTuple):
    """What a step remembers of a key under one name."""

    name: str
    """As the processor calls it; of timers, in words; empty where the operator has one value for a key."""
    kind: str
    """Spark's StateVariableType (ValueState, ListState, MapState, TimerState); else the name of the operator."""
    ttl: bool = False
    """Whether values expire."""

    @property
    def keyless(self) -> bool:
        """Whether its rows are known by nothing but themselves: elements of a list, timers."""
        return self.kind in {"ListState", "TimerState"}


class Table(NamedTuple):
    """Rows of one variable, times with their zone. `total` counts those that were not fetched too."""

    variable: Variable
    columns: tuple[tuple[str, Role], ...]
    rows: tuple[Row, ...]
    total: int

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.columns)

    def parts(self, row: Row) -> tuple[dict[str, Any], dict[str, Any]]:
        """What names a row, and what is remembered under it."""
        named: dict[str, Any] = {}
        kept: dict[str, Any] = {}
        for (name, role), value in zip(self.columns, row, strict=True):
            (kept if role == "value" else named)[name] = value
        return named, kept
