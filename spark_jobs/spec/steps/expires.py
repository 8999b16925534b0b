"""Expires: when the rows of a step's state go, and the variable of the state that has them."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal, NamedTuple

Counted = Literal["rows", "timers", "timeouts"]
Clock = Literal["watermark", "clock", "processor", "nothing"]


class Variable(NamedTuple):
    """A state variable of a step."""

    name: str
    """Its name in the processor; for timers, a description; empty if the operator stores one
    unnamed value for each key.
    """
    kind: str
    """Spark's StateVariableType (ValueState, ListState, MapState, TimerState), or else the
    operator's name.
    """
    ttl: bool = False
    """Whether its values expire."""

    @property
    def keyless(self) -> bool:
        """Whether its rows have no key of their own: elements of a list, and timers."""
        return self.kind in {"ListState", "TimerState"}


class Expires(NamedTuple):
    """The column that says when a variable's rows expire; empty if none does."""

    column: str = ""
    by: Clock = "nothing"
    counted: Counted = "rows"
    after: timedelta = timedelta()
    """How long after the column's time."""
