"""Words: the values that are looked for where no condition can be asked, in every form that a file
may have them in.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self

from spark_jobs.values.times import EPOCH, iso

CUT: Final = 32
"""Characters that Delta keeps of a text in a log's statistics."""
_LITERALS: Final = re.compile(r"'((?:[^']|'')*)'|(?<![\w.])(-?\d+(?:\.\d+)?)(?![\w.])")
_NOTHING: Final = re.compile(rb"(?!)")


def literals(sql: str) -> Iterator[object]:
    """The texts and numbers that stand in a condition.

    >>> [*literals("customer_id = 17 AND name <> 'O''Hara'")]
    [17, "O'Hara"]
    """
    for text, number in _LITERALS.findall(sql):
        if number:
            yield float(number) if "." in number else int(number)
        elif text:
            yield text.replace("''", "'")


def texts(value: object) -> Iterator[str]:
    """A value as JSON, logs and names of folders have it.

    >>> [*texts(17), *texts(True)]
    ['17']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes):
        yield value.decode(errors="replace")
    elif isinstance(value, datetime):
        for unit in ("seconds", "milliseconds", "microseconds"):
            yield from (iso(value, between, unit) for between in ("T", " "))
    elif isinstance(value, date):
        yield value.isoformat()
    elif isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        yield str(value)
        if not isinstance(value, int) and math.isfinite(value) and value == int(value):
            yield str(int(value))


def binary(value: object) -> Iterator[bytes]:
    """A value as Spark's rows in a state store have it: the second form is of an ordered key."""
    if isinstance(value, datetime):
        value = (value.replace(tzinfo=value.tzinfo or UTC) - EPOCH) // (EPOCH.resolution)
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        yield struct.pack("<q", value)
        yield struct.pack(">Q", (value + 2**63) % 2**64)
    elif isinstance(value, float):
        yield struct.pack("<d", value)


class Words(NamedTuple):
    """What is looked for, compiled."""

    names: frozenset[str]
    """Of the columns that have the values."""
    exact: frozenset[str]
    cut: tuple[str, ...]
    """The starts of texts that are too long for statistics."""
    text: re.Pattern[bytes]
    stored: re.Pattern[bytes]

    @classmethod
    def of(cls, values: Collection[object], names: Collection[str]) -> Self:
        """Whole words: 17 is not in 170, and in a_17."""
        exact = {text for value in values for text in texts(value) if text}
        packed = {form for value in values for form in binary(value)}
        inner = {text.encode() for text in exact}
        word = rb"(?<![A-Za-z0-9])(?:%s)(?![A-Za-z0-9])" % _any(inner) if inner else b""
        of_texts = {text.encode() for value in values for text in texts(value) if _is_text(value)}
        return cls(
            frozenset(names),
            frozenset(exact),
            tuple(text[:CUT] for text in exact if len(text) > CUT),
            re.compile(word) if word else _NOTHING,
            re.compile(_any(of_texts | packed)) if of_texts | packed else _NOTHING,
        )

    @classmethod
    def of_bytes(cls, text: str) -> Self:
        """This text, wherever it is, also within a word."""
        found = re.compile(re.escape(text.encode()))
        return cls(frozenset(), frozenset(), (), found, found)

    def in_tree(self, tree: object, name: str = "", *, anywhere: bool = False) -> bool:
        """Whether a document of JSON, or a row, has one of them. A number counts by its name."""
        if isinstance(tree, Mapping):
            return any(
                self.in_text(str(key)) or self.in_tree(value, str(key), anywhere=anywhere)
                for key, value in tree.items()
            )
        if isinstance(tree, tuple) and len(tree) == 2:  # noqa: PLR2004 - pyarrow's entry of a map
            return self.in_tree({str(tree[0]): tree[1]}, anywhere=anywhere)
        if isinstance(tree, list | tuple):
            return any(self.in_tree(each, name, anywhere=anywhere) for each in tree)
        if isinstance(tree, bytes):
            return self.text.search(tree) is not None
        if isinstance(tree, str):
            return self._in_string(tree, name, anywhere=anywhere)
        counts = anywhere or name in self.names
        return counts and any(text in self.exact for text in texts(tree))

    def in_text(self, text: str) -> bool:
        """Whether a text has one of them as a word."""
        return self.text.search(text.encode(errors="replace")) is not None

    def _in_string(self, text: str, name: str, *, anywhere: bool) -> bool:
        if self.in_text(text) or (name in self.names and self._is_start(text)):
            return True
        return text[:1] in "{[" and self.in_tree(_parsed(text), name, anywhere=anywhere)

    def _is_start(self, text: str) -> bool:
        """Of the largest value Delta changes or adds a last character."""
        return any(text[: CUT - 1] == start[: CUT - 1] for start in self.cut)


def _is_text(value: object) -> bool:
    return isinstance(value, str | bytes)


def _any(found: Collection[bytes]) -> bytes:
    return b"|".join(map(re.escape, sorted(found, key=len, reverse=True)))


def _parsed(text: str) -> Any:
    """None for what is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
