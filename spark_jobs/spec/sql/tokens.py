"""The tokens of Spark SQL, as Spark's lexer cuts them (SqlBaseLexer.g4), without a JVM."""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

Kind = Literal["name", "text", "other"]


class Token(NamedTuple):
    """One token. Comments and spaces are none."""

    kind: Kind
    text: str
    """Of a name without its back-quotes, in lower case; of a text nothing."""


_TOKEN: Final = re.compile(
    r"""
      (?P<space>  \s+ | --(?:\\\n|[^\n])* )
    | (?P<text>   [rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
    | (?P<quoted> `(?:[^`]|``)*` )
    | (?P<name>   \w+ )
    | (?P<open>   ['"`] | \*/ | \$\w*\$ )
    | (?P<other>  . )
    """,
    re.VERBOSE | re.DOTALL,
)
"""open: a quote that does not end, or what else only the parser can say."""
_BRACKET: Final = re.compile(r"/\*|\*/")


def tokens(sql: str) -> tuple[Token, ...] | None:
    """The tokens of a text; None if a quote or a comment in it does not end, or ends twice.

    >>> [each.text for each in tokens("/* a /* b */ */ max(`c d`) > 1 -- e") or ()]
    ['max', '(', 'c d', ')', '>', '1']
    """
    found, at = list[Token](), 0
    while at < len(sql):
        if sql.startswith("/*", at):
            end = _comment_end(sql, at)
            if end is None:
                return None
            at = end
            continue
        match = _TOKEN.match(sql, at)
        assert match is not None, "any character is a token"
        if match["open"]:
            return None
        at = match.end()
        if token := _token(match):
            found.append(token)
    return tuple(found)


def _token(match: re.Match[str]) -> Token | None:
    if match["space"]:
        return None
    if match["text"]:
        return Token("text", "")
    if quoted := match["quoted"]:
        return Token("name", quoted[1:-1].replace("``", "`").lower())
    if name := match["name"]:
        return Token("other" if name.isdigit() else "name", name.lower())
    return Token("other", match["other"])


def _comment_end(sql: str, start: int) -> int | None:
    """Where the comment ends that begins there: comments nest."""
    depth = 0
    for bracket in _BRACKET.finditer(sql, start):
        depth += 1 if bracket[0] == "/*" else -1
        if depth == 0:
            return bracket.end()
    return None
