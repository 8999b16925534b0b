"""Unreadable: in place of a value that Python cannot hold, where it must hide no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Unreadable:
    """Of no type that a field takes, and none that JSON has."""

    def __init__(self, why: str) -> None:
        self.why = why


def unreadable(made: Callable[..., Any]) -> Callable[..., Any]:
    """The same, but that it raises neither ValueError nor OverflowError."""

    def value(*given: Any) -> Any:
        try:
            return made(*given)
        except OverflowError:
            return Unreadable("a time outside the years 1 to 9999")
        except ValueError as error:
            return Unreadable(f"a value that {error}")

    return value
