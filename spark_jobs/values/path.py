"""Paths: where in a record a field is, as text: `data.user.id`, `tags[0]`, `data."user-agent"`; and
the name of a column for one.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

Path = tuple[str | int, ...]
"""Keys of objects, and places in arrays from 0: ("data", "user-agent", 0)."""
_PART: Final = re.compile(r'"((?:[^"\\]|\\["\\])+)"|([^\s."\[\]]+)')
_PLACE: Final = re.compile(r"\[(0|[1-9][0-9]{0,8})\]")
_UNREAD: Final = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
_PLAIN: Final = re.compile(r'(?!\$$)[^\s."\[\]]+')


def parsed(text: str) -> Path:
    r"""The path of a text. Raises ValueError, with what is wrong.

    >>> parsed('data."user-agent".items[0].@id'), parsed(r'"a \"b\""')
    (('data', 'user-agent', 'items', 0, '@id'), ('a "b"',))
    """
    found, at = list[str | int](), 0
    while True:
        part = _PART.match(text, at)
        if part is None:
            raise ValueError("a key is missing" if at == len(text) else f"{text[at:]!r} is no key")
        if part[0] == "$":
            raise ValueError("'$' is the record in JSONPath, and a path begins in the record")
        found.append(part[2] or re.sub(r"\\(.)", r"\1", part[1]))
        at = part.end()
        while place := _PLACE.match(text, at):
            found.append(int(place[1]))
            at = place.end()
        if at == len(text):
            return tuple(found)
        if text[at] != ".":
            raise ValueError(f"{text[at:]!r} is no place in an array, and does not begin with '.'")
        at += 1


def readable(path: Path) -> bool:
    """Whether decoders read each of its keys: msgspec takes no quote, backslash, control
    character or half of a surrogate pair in the name of one, and a path has no empty one.
    """
    return not any(key == "" or (isinstance(key, str) and _UNREAD.search(key)) for key in path)


def as_text(path: Path) -> str:
    """The text of a path.

    >>> as_text(("data", "user agent", 0))
    'data."user agent"[0]'
    """
    parts = ""
    for step in path:
        if isinstance(step, int):
            parts += f"[{step}]"
        else:
            quoted = step.replace("\\", "\\\\").replace('"', '\\"')
            key = step if _PLAIN.fullmatch(step) else f'"{quoted}"'
            parts += f".{key}" if parts else key
    return parts


MOST: Final = 63


def snake(path: Path) -> str:
    """A field's name for what is at a path, in snake_case; empty if nothing of it can stand there.

    >>> snake(("data", "userId", 0)), snake(("@HTTPStatus",)), snake(("2fa-code",)), snake(("日",))
    ('data_user_id_0', 'http_status', 'f_2fa_code', '')
    """
    text = unicodedata.normalize("NFKD", "_".join(map(str, path)))
    text = text.encode("ascii", "ignore").decode()
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text).lower()
    text = re.sub(r"[^a-z0-9]+", "_", text).strip("_")
    return (f"f_{text}" if text[:1].isdigit() else text)[:MOST]
