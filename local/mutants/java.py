"""The changes of a Java file, by its text: as make.py has those of a Python file, without
cosmic-ray. Also those that no compiler takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

TOKEN = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*|@\w+(\([^)]*\))?|(?:package|import)[^;]*;)"
    r"|(?P<text>\"(?:\\.|[^\"\\])*\")|(?P<letter>'(?:\\.|[^'\\])')"
    r"|(?P<number>\b(?:0x[0-9A-Fa-f_]+|\d[\d_]*)L?\b(?!\.))|(?P<real>\d+\.[\de]+)"
    r"|(?P<word>\w+)|(?P<sign>\+\+|--|<<|>>|[-+*/%&|=!<>]=|&&|\|\||->|::|\S)",
    re.DOTALL,
)
OTHERS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",),
    "!=": ("==",), "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",),
    "%": ("*",), "++": ("--",), "--": ("++",), "+=": ("-=", "="), "-=": ("+=", "="), "/=": ("*=",),
    "|=": ("&=", "="), "&": ("|",), "|": ("&",), "<<": (">>",), ">>": ("<<",), "!": ("",),
    "true": ("false",), "false": ("true",),
}  # fmt: skip
"""Words and signs -> what comes in their place."""
OPENS, CLOSES = "([{", ")]}"


class Token(NamedTuple):
    kind: str
    text: str
    at: int


class Change(NamedTuple):
    """Of the text between two places."""

    begin: int
    end: int
    to: str


def changed(source: str) -> list[str]:
    """The source with each change alone."""
    texts = (source[: each.begin] + each.to + source[each.end :] for each in _changes(source))
    return [text for text in dict.fromkeys(texts) if text != source]


def _changes(source: str) -> Iterator[Change]:
    found = [Token(str(m.lastgroup), m[0], m.start()) for m in TOKEN.finditer(source)]
    tokens = [each for each in found if each.kind != "comment"]
    for token in tokens:
        end = token.at + len(token.text)
        yield from (Change(token.at, end, to) for to in _others(token))
    for number, (before, token) in enumerate(pairwise(tokens), 1):
        if before.text in ("{", "}", ";", "->", ":") and (last := _end(tokens, number)):
            yield Change(token.at, last.at + 1, ";")
        if token.text == "return" and (last := _end(tokens, number)):
            value = source[token.at + len("return") : last.at]
            for to in (f"!({value})", f"1 + ({value})", "null", "true", "false", "0"):
                yield Change(token.at, last.at, f"return {to}")
        if before.text in ("if", "while") and (last := _closing(tokens, number)):
            condition = source[token.at : last.at + 1]
            for with_ in ("false &&", "true ||") if before.text == "if" else ("false &&",):
                yield Change(token.at, last.at + 1, f"({with_} {condition})")


def _others(token: Token) -> Iterator[str]:
    if token.kind in ("word", "sign"):
        yield from OTHERS.get(token.text, ())
    elif token.kind == "text":
        yield f'"?{token.text[1:]}'
    elif token.kind == "letter":
        number = ord(json.loads(f'"{token.text[1:-1]}"') if token.text != "'\"'" else '"')
        yield from (f"(char) {number + more}" for more in (1, -1))
    elif token.kind == "number":
        yield from (f"({token.text} {more})" for more in ("+ 1", "- 1"))
    elif token.kind == "real":
        yield f"({token.text} / 2)"


def _end(tokens: list[Token], start: int) -> Token | None:
    """Of a statement that begins there: its semicolon. None of one with a block."""
    depth = 0
    for token in tokens[start:]:
        depth += (token.text in OPENS) - (token.text in CLOSES)
        if depth < 0 or token.text == "{":
            return None
        if token.text == ";" and not depth:
            return token
    return None


def _closing(tokens: list[Token], start: int) -> Token | None:
    """Of the parenthesis there its other."""
    depth = 0
    for token in tokens[start:]:
        depth += (token.text == "(") - (token.text == ")")
        if not depth:
            return token
    return None
