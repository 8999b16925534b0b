"""Long fractions: times with more than six digits of a second, as .NET, Go and Java write them.

msgspec rounds them: 10:59:59.9999999 would be of the next hour, and the last time of the year 9999
no time at all. Spark, DuckDB and Python's own datetime cut them off, and so do we.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from spark_jobs.decode.json.step import Step

# Both begin with what a search finds fast.
_LONG = re.compile(rb"\.(?<=[0-9]:[0-9]{2}\.)[0-9]{7}")
_ESCAPED = re.compile(rb"\\u00[23]")
"""A digit, a colon or a point, written as \\u002e."""

Decode = Callable[[bytes], Any]
"""The bytes of a record -> an instance of a class of msgspec, which mypy does not know."""
Cut = tuple["Sequence[Step]", Callable[[Any], Any]]
"""The way to a value with times, and what makes it of their texts."""


def may_have(value: bytes) -> bool:
    """Whether a time in the JSON text may have more than six digits of a second; some texts without
    one are taken for such.
    """
    return bool(_LONG.search(value) or (b"\\u00" in value and _ESCAPED.search(value)))


class LongFractions:
    """Decodes values that may have such times, at a third of msgspec's speed."""

    def __init__(self, as_text: Decode, times: Sequence[Cut], rounding: Decode) -> None:
        """`as_text` decodes a value so that times are text, `rounding` so that msgspec rounds them.
        None of the ways passes through an array.
        """
        self._as_text = as_text
        self._times = times
        self._rounding = rounding

    def strict(self, value: bytes) -> Any:
        """The decoded value, its times cut off."""
        return self.decode(value) if self._times and may_have(value) else self._rounding(value)

    def decode(self, value: bytes) -> Any:
        """What `as_text` decodes, with times in place of their texts.

        Raises what `rounding` raises, with the name of the field.
        """
        try:
            found = self._as_text(value)
            for steps, cut in self._times:
                found = _replaced(found, steps, cut)
        except (msgspec.DecodeError, ValueError):
            return self._rounding(value)
        return found


def _replaced(value: Any, steps: Sequence[Step], cut: Callable[[Any], Any]) -> Any:
    """The value, with cut(what is at the end of the way) in its place."""
    if not steps:
        return cut(value)
    at = value
    for step in steps[:-1]:
        at = getattr(at, step.name)
        if at is None:
            return value
    name = steps[-1].name
    if (text := getattr(at, name)) is not None:
        setattr(at, name, cut(text))
    return value
