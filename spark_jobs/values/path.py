"""Paths: where in a record a field is, as text: `data.user.id`, `tags[0]`, `data."user-agent"`,
`attributes[key=service.name].value`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, Final, NamedTuple


class Member(NamedTuple):
    """The first object of an array that has a text at a key."""

    key: str
    text: str

    def among(self, array: Iterable[Any]) -> Any:
        """It; None if there is none. Any: what a record has."""
        found = (each for each in array if isinstance(each, dict) and self.key in each)
        return next((each for each in found if each[self.key] == self.text), None)


Step = str | int | Member
Path = tuple[Step, ...]
"""Keys of objects, places in arrays from 0, and members of arrays: ("data", "user-agent", 0)."""
_PART: Final = re.compile(r'"((?:[^"\\]|\\["\\])+)"|([^\s."\[\]]+)')
_KEYED: Final = re.compile(
    r'\[(?:"((?:[^"\\]|\\["\\])+)"|([^\s."=\[\]]+))=(?:"((?:[^"\\]|\\["\\])*)"|([^"\[\]]+))\]'
)
_PLACE: Final = re.compile(r"\[(0|[1-9][0-9]{0,8})\]")
_UNREAD: Final = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')
_PLAIN: Final = re.compile(r'(?!\$$)[^\s."\[\]]+')
_PLAIN_KEY: Final = re.compile(r'[^\s."=\[\]]+')
_PLAIN_TEXT: Final = re.compile(r'[^"\[\]]+')


def parsed(text: str) -> Path:
    r"""The path of a text. Raises ValueError, with what is wrong.

    >>> parsed('data."user-agent".items[0].@id'), parsed(r'"a \"b\""')
    (('data', 'user-agent', 'items', 0, '@id'), ('a "b"',))
    >>> parsed('tags[key=service.name].value')
    ('tags', Member(key='key', text='service.name'), 'value')
    """
    found, at = list[Step](), 0
    while True:
        part = _PART.match(text, at)
        if part is None:
            raise ValueError("a key is missing" if at == len(text) else f"{text[at:]!r} is no key")
        if part[0] == "$":
            raise ValueError("'$' is the record in JSONPath, and a path begins in the record")
        found.append(part[2] or _unquoted(part[1]))
        at = part.end()
        while place := _PLACE.match(text, at) or _KEYED.match(text, at):
            found.append(int(place[1]) if place.re is _PLACE else _keyed(place))
            at = place.end()
        if at == len(text):
            return tuple(found)
        if text[at] != ".":
            raise ValueError(
                f"{text[at:]!r} is no place in an array, as [0], no member of one, as [key=name], "
                "and does not begin with '.'"
            )
        at += 1


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _keyed(found: re.Match[str]) -> Member:
    quoted_key, key, quoted, text = found.groups()
    return Member(key or _unquoted(quoted_key), text or _unquoted(quoted))


def readable(path: Path) -> bool:
    """Whether decoders read each of its keys: msgspec takes no quote, backslash, control
    character or half of a surrogate pair in the name of one, and a path has no empty one.
    """
    keys = (step.key if isinstance(step, Member) else step for step in path)
    return not any(key == "" or (isinstance(key, str) and _UNREAD.search(key)) for key in keys)


def as_text(path: Path) -> str:
    """The text of a path.

    >>> as_text(("data", "user agent", 0))
    'data."user agent"[0]'
    """
    parts = ""
    for step in path:
        if isinstance(step, int):
            parts += f"[{step}]"
        elif isinstance(step, Member):
            parts += f"[{_written(step.key, _PLAIN_KEY)}={_written(step.text, _PLAIN_TEXT)}]"
        else:
            key = _written(step, _PLAIN)
            parts += f".{key}" if parts else key
    return parts


def _written(text: str, plain: re.Pattern[str]) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return text if plain.fullmatch(text) else f'"{quoted}"'


MOST: Final = 63


def snake(path: Path) -> str:
    """A field's name for what is at a path, in snake_case; empty if nothing of it can stand there.

    >>> snake(("data", "userId", 0)), snake(("@HTTPStatus",)), snake(("2fa-code",)), snake(("日",))
    ('data_user_id_0', 'http_status', 'f_2fa_code', '')
    """
    named = (step.text if isinstance(step, Member) else str(step) for step in path)
    text = unicodedata.normalize("NFKD", "_".join(named))
    text = text.encode("ascii", "ignore").decode()
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", text).lower()
    text = re.sub(r"[^a-z0-9]+", "_", text).strip("_")
    return (f"f_{text}" if text[:1].isdigit() else text)[:MOST]
