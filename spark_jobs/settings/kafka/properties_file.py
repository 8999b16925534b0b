"""The format of a properties file, as java.util.Properties reads it.

It refuses what Java would drop without an error.

One `name=value` on each line; `:` or white space may replace the `=`. A backslash at the end of a
line joins the next one. \\\\ \\n \\t \\r \\f \\uXXXX and an escaped separator are escapes. Any
other backslash is refused, since Java drops it. So is a line without a separator: it is more likely
a part of a secret value than a name. The encoding is UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.)|$)", re.DOTALL)
_PAIR = re.compile(
    r"(?P<name>(?:[^\\=:\s]|\\.)*)(?:[ \t\f]*[=:][ \t\f]*|[ \t\f]+)(?P<value>.*)", re.DOTALL
)
CODE = 4
"""Hexadecimal digits after \\u."""
_LITERAL = "\\=:#! '\""


class Line(NamedTuple):
    """One property, and the number of its first line, counted from 1."""

    number: int
    name: str
    value: str


class Malformed(ValueError):
    """A line does not parse.

    The message has its number, but no part of its value, which may be secret.
    """


def parse(text: str) -> tuple[Line, ...]:
    """The properties in their order, including repeated ones. Raises Malformed."""
    return tuple(_property(number, line) for number, line in _logical(text))


def render(properties: Mapping[str, str]) -> str:
    """The text of a file that `parse` and Java read as these properties."""
    return "".join(
        f"{_escaped(name, ' =:')}={_escaped(value)}\n" for name, value in properties.items()
    )


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Logical lines with the number of their first line: without comments and blank lines, with
    continued lines joined.
    """
    first = 0
    joined = ""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        part = line.lstrip(" \t\f")
        if not first and part[:1] in ("", "#", "!"):
            continue
        first = first or number
        joined = joined + part
        if (len(joined) - len(joined.rstrip("\\"))) % 2:
            joined = joined[:-1]
            continue
        yield first, joined
        first = 0
        joined = ""
    if first:
        yield first, joined


def _property(number: int, line: str) -> Line:
    pair = _PAIR.fullmatch(line)
    if pair is None:
        raise Malformed(f"line {number} is not name=value")
    # Java keeps blanks at the end of a value; no password ends with a blank.
    return Line(number, _read(number, pair["name"]), _read(number, pair["value"].rstrip(" \t\f")))


def _read(number: int, part: str) -> str:
    def unescaped(escape: re.Match[str]) -> str:
        code, letter = escape.groups()
        if code:
            return chr(int(code, 16))
        if letter and (letter in _NAMED or letter in _LITERAL):
            return _NAMED.get(letter, letter)
        raise Malformed(
            f"line {number} has a backslash that starts no escape: write a backslash as two "
            "backslashes"
        )

    return _ESCAPE.sub(unescaped, part)


def _escaped(text: str, separators: str = "") -> str:
    def escaped(at: int, letter: str) -> str:
        named = next((name for name, character in _NAMED.items() if character == letter), None)
        edge = letter == " " and at in (0, len(text) - 1)
        if (
            named
            or letter == "\\"
            or letter in separators
            or edge
            or (at == 0 and letter in "=:#!")
        ):
            # A blank at an edge becomes a \uXXXX code, since other readers may strip an escaped
            # blank.
            return f"\\u{ord(letter):04x}" if edge else f"\\{named or letter}"
        return (
            letter
            if letter.isprintable() or len(f"{ord(letter):x}") > CODE
            else f"\\u{ord(letter):04x}"
        )

    return "".join(escaped(at, letter) for at, letter in enumerate(text))
