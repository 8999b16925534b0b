"""Pattern: a regular expression of ECMA-262, which JSON Schema has, as one of Python."""

from __future__ import annotations

import re
from typing import Final

SPACES: Final = r"\t\n\x0b\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
SETS: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": SPACES}
"""Letter of an escape -> what ECMA means by it. Python means letters and digits of every script."""
LINE_ENDS: Final = r"\n\r\u2028\u2029"
SAME: Final = "fnrtvxu"
"""Letters that mean the same in both after a backslash; so do digits and signs."""
ANY: Final = "(?s:.*)"
_TOKEN: Final = re.compile(r"\(\?s:\.(?:\*|\{[0-9,]+\})\)|\\.|\{,\d*\}|\[\^?\]?|.", re.DOTALL)
_WHOLE: Final = re.compile(r"\^\(\?:(.*)\)\$", re.DOTALL)


def whole(pattern: str) -> str:
    r"""What matches a whole text in which the pattern is found.

    >>> whole("^[a-z]+$"), whole("^a|b"), whole(r"\db$")
    ('[a-z]+', '(?s:.*)(?:^a|b)(?s:.*)', '(?s:.*)[0-9]b')

    Raises ValueError (re.error too): what of it Python cannot say.
    """
    if (given := _WHOLE.fullmatch(pattern)) and _compiles(given[1]):
        return of_python(given[1])
    if "|" in pattern:
        return f"{ANY}(?:{of_python(pattern)}){ANY}"
    begins, ends = pattern.startswith("^"), re.search(r"(?<!\\)(\\\\)*\$\Z", pattern)
    inner = of_python(pattern[begins : len(pattern) - bool(ends)])
    return ("" if begins else ANY) + inner + ("" if ends else ANY)


def of_python(pattern: str) -> str:
    r"""The pattern that finds the same.

    >>> of_python(r"^(a|b)$"), of_python(r"[\d.$]-\w")
    ('^(a|b)\\Z', '[0-9.$]-[A-Za-z0-9_]')
    """
    found, within = list[str](), False
    for token in _TOKEN.findall(pattern):
        if within and token.startswith("["):  # no class begins in a class
            within = not token.endswith("]")
            found.append(token.replace("[", r"\["))
        elif token in ("[]", "[^]"):
            raise ValueError(f"{token} has nothing in it, or everything")
        elif not within and token.startswith("{,"):
            raise ValueError(f"{token} is a repeat in Python alone")
        elif token.startswith("\\"):
            found.append(_escape(token, within=within, after=_is_range(found)))
        elif token == "-" and within and found[-1] in SETS.values():
            found.append(r"\-")
        elif within:
            within = token != "]"
            found.append(token)
        else:
            within = token.startswith("[")
            found.append({"$": r"\Z", ".": f"[^{LINE_ENDS}]"}.get(token, token))
    return "".join(found)


def _is_range(found: list[str]) -> bool:
    """Whether a range of letters has begun, and has no end yet."""
    return found[-1:] == ["-"] and found[-2:-1] not in (["["], ["[^"])


def _escape(token: str, *, within: bool, after: bool) -> str:
    letter = token[1:]
    if letter in SETS:
        if within and after:
            raise ValueError(f"-{token} ends no range")
        return SETS[letter] if within else f"[{SETS[letter]}]"
    if letter.lower() in SETS and not within:
        return f"[^{SETS[letter.lower()]}]"
    if letter in ("b", "B") and not within:
        return f"(?a:{token})"
    if letter.isascii() and letter.isalpha() and letter not in SAME + "b" * within:
        raise ValueError(f"{token} is another thing in Python")
    return token


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True
