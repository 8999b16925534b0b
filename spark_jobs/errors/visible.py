"""Visible: text of others, as text on one line."""

from __future__ import annotations


def visible(text: str, most: int | None = None) -> str:
    r"""The text with its control and direction characters escaped, so that a record's bytes cannot
    break a line, turn its order or control a terminal. Beyond `most` characters it is cut, and says
    how many are left out.

    >>> visible("a\x1b[31m\u202eb")
    'a\\x1b[31m\\u202eb'
    >>> visible("abcdef", most=4)
    'abcd … (2 more characters)'
    """
    left_out = 0 if most is None else max(0, len(text) - most)
    shown = text[: len(text) - left_out]
    if not shown.isprintable():
        shown = "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown
        )
    return f"{shown} … ({left_out:,} more characters)" if left_out else shown
