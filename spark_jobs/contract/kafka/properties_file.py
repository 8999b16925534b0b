"""The format of a properties file, as java.util.Properties reads it, but for what that would lose in silence.

One `name=value` a line; `:` or white space may stand for the `=`. A backslash at the end of a line goes on with the next one.
\\\\ \\n \\t \\r \\f \\uXXXX and an escaped separator are escapes; another backslash, which Java drops, is refused, and so is a
line without a separator: it is rather a part of a value than a name to be shown. UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.)|$)", re.DOTALL)
_PAIR = re.compile(r"(?P<name>(?:[^\\=:\s]|\\.)*)(?:[ \t\f]*[=:][ \t\f]*|[ \t\f]+)(?P<value>.*)", re.DOTALL)
CODE = 4
"""Hexadecimal digits after \\u."""
_LITERAL = "\\=:#! '\""


class Line(NamedTuple):
    """One property, and the number of the line on which it begins, from 1."""

    number: int
    name: str
    value: str


class Malformed(ValueError):
    """A line does not parse. The message has its number and nothing of its value, which may be secret."""


def parsed(text: str) -> tuple[Line, ...]:
    """The properties in their order, also one that is there twice. Raises Malformed."""
    return tuple(_property(number, line) for number, line in _logical(text))


def written(properties: Mapping[str, str]) -> str:
    """A file that `parsed`, and Java, read as these properties."""
    return "".join(f"{_escaped(name, ' =:')}={_escaped(value)}\n" for name, value in properties.items())


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines as they are meant: comments and blank ones left out, continued ones joined."""
    begun, said = 0, ""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        part = line.lstrip(" \t\f")
        if not begun and part[:1] in ("", "#", "!"):
            continue
        begun, said = begun or number, said + part
        if (len(said) - len(said.rstrip("\\"))) % 2:
            said = said[:-1]
            continue
        yield begun, said
        begun, said = 0, ""
    if begun:
        yield begun, said


def _property(number: int, line: str) -> Line:
    pair = _PAIR.fullmatch(line)
    if pair is None:
        raise Malformed(f"line {number} is no name=value")
    # Blanks at the end are of the value in Java, and of nobody's password.
    return Line(number, _read(number, pair["name"]), _read(number, pair["value"].rstrip(" \t\f")))


def _read(number: int, part: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        code, letter = escape.groups()
        if code:
            return chr(int(code, 16))
        if letter and (letter in _NAMED or letter in _LITERAL):
            return _NAMED.get(letter, letter)
        raise Malformed(f"line {number} has a backslash that begins no escape: for a backslash write two")

    return _ESCAPE.sub(meant, part)


def _escaped(text: str, separators: str = "") -> str:
    def escaped(at: int, letter: str) -> str:
        named = next((name for name, meant in _NAMED.items() if meant == letter), None)
        edge = letter == " " and at in (0, len(text) - 1)
        if named or letter == "\\" or letter in separators or edge or (at == 0 and letter in "=:#!"):
            # As a code at the edge: a blank that is only escaped is still a blank to whoever strips the line.
            return f"\\u{ord(letter):04x}" if edge else f"\\{named or letter}"
        return letter if letter.isprintable() or len(f"{ord(letter):x}") > CODE else f"\\u{ord(letter):04x}"

    return "".join(escaped(at, letter) for at, letter in enumerate(text))
