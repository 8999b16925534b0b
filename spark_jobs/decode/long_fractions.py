"""Long fractions: times with more than six digits of a second, as .NET, Go and Java write them.

msgspec rounds them: 10:59:59.9999999 would be of the next hour, and the last time of the year 9999
no time at all. Spark, DuckDB and Python's own datetime cut them off, and so do we.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from spark_jobs.values.conversions import json_type

# Both begin with what a search finds fast.
_LONG = re.compile(rb"\.(?<=[0-9]:[0-9]{2}\.)[0-9]{7}")
_ESCAPED = re.compile(rb"\\u00[23]")
"""A digit, a colon or a point, written as \\u002e."""
_DIGITS = re.compile(r"(:[0-9]{2}\.[0-9]{6})[0-9]+")

Decode = Callable[[bytes], Any]
"""The bytes of a record -> an instance of a class of msgspec, which mypy does not know."""


def may_have(value: bytes) -> bool:
    """Whether a time in the JSON text may have more than six digits of a second; some texts without
    one are taken for such.
    """
    return bool(_LONG.search(value) or (b"\\u00" in value and _ESCAPED.search(value)))


class LongFractions:
    """Decodes records of one topic that may have such times, at a third of msgspec's speed."""

    def __init__(self, as_text: type, times: Sequence[str], rounding: Decode) -> None:
        """`as_text` is the class of a record in which the fields `times` are text; `rounding`
        decodes a record in which msgspec rounds them.
        """
        self._record: msgspec.json.Decoder[Any] = msgspec.json.Decoder(as_text)
        self._time: msgspec.json.Decoder[Any] = msgspec.json.Decoder(json_type("timestamp"))
        self._times = times
        self._rounding = rounding

    def decode(self, value: bytes) -> Any:
        """An instance of `as_text` with times in place of their texts.

        Raises what `rounding` raises, with the name of the field.
        """
        try:
            record = self._record.decode(value)
            for name in self._times:
                if (text := getattr(record, name)) is not None:
                    setattr(record, name, self._cut_off(text))
        except (msgspec.DecodeError, ValueError):
            return self._rounding(value)
        return record

    def _cut_off(self, text: str) -> Any:
        if "\\" in text:
            raise ValueError(text)  # it is no time, and must not become one by being read again
        short = _DIGITS.sub(r"\1", text, count=1)
        return self._time.decode(f'"{short}"')
