"""Masked: values of others on their way through Great Expectations' templates, which put them into
markup as they are.

Each character with a meaning in markup, in a template or in Python's repr goes as a private one,
and becomes itself again as text, when the markup has been parsed (allowed.py). So no value can be
markup, and none is escaped twice.
"""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from typing import Any, Final

from spark_jobs.contract.visible import visible

SPECIAL: Final = "<>&\"'`$\\{}"
MOST_CHARACTERS: Final = 500
"""Of a value."""
MOST_ITEMS: Final = 100
"""Of a list or a mapping."""
_FIRST = 0xE000  # of the private characters: `visible` leaves none of a value's own
_MASK = {ord(each): chr(_FIRST + place) for place, each in enumerate(SPECIAL)}
_UNMASK = {ord(private): chr(special) for special, private in _MASK.items()}
_WRITTEN = re.compile(r"\\u(e00[0-9a-f])")
"""A private character as json.dumps and repr write it. A value's own backslash is masked."""
_DEEPEST = 8
Plain = str | int | float | bool | None


def masked(value: Any, depth: int = 0) -> Any:
    r"""The value, of scalars, lists and mappings; all else as its text.

    >>> unmasked(masked("a<b>\n"))
    'a<b>\\n'
    >>> masked("<") == "<", masked({"x": [1, None]})
    (False, {'x': [1, None]})
    """
    if isinstance(value, dict) and depth < _DEEPEST:
        items = list(value.items())[:MOST_ITEMS]
        return {_key(key): masked(each, depth + 1) for key, each in items} | _left_out(value)
    if isinstance(value, list | tuple) and depth < _DEEPEST:
        shown = [masked(each, depth + 1) for each in value[:MOST_ITEMS]]
        return shown + [f"{more}: {count}" for more, count in _left_out(value).items()]
    return masked_scalar(value)


def masked_scalar(value: Any) -> Plain:
    """As `masked`; a list or a mapping as its text, too.

    Numbers of NumPy become Python's: Great Expectations cannot render those.
    """
    match value:
        case None | bool():
            return value
        case Integral():
            return int(value)
        case Real() if math.isfinite(value):
            return float(value)
        case _:
            return visible(str(value), MOST_CHARACTERS).translate(_MASK)


def unmasked(text: str) -> str:
    """Text of which the markup is gone, as it was."""
    written = _WRITTEN.sub(lambda found: chr(int(found[1], 16)), text)
    return written.translate(_UNMASK)


def _key(key: Any) -> str:
    """A value's own "content_block_type" would name a template to Great Expectations."""
    text = visible(str(key), MOST_CHARACTERS).translate(_MASK)
    return text.replace("content_block", "content block")


def _left_out(value: Any) -> dict[str, int]:
    more = len(value) - MOST_ITEMS
    return {"… more": more} if more > 0 else {}
