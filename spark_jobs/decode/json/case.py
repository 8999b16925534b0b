"""JSON case: tells a key in the wrong case, which is no key, from one that is missing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.values.path import as_text
from spark_jobs.values.type_tree import Array, Struct, Type

if TYPE_CHECKING:
    from spark_jobs.values.path import Path

KELVIN: Final = "\N{KELVIN SIGN}".encode()
"""The only letter outside of ASCII whose lower case is in it: k."""


class Names:
    """The keys of a topic's records, on every level."""

    def __init__(self) -> None:
        self.keys: dict[str, Names] = {}
        self.items: Names | None = None
        """Of the members of an array."""

    def put(self, path: Path, tree: Type | None = None) -> None:
        """Add those of a path, and of the type at its end."""
        at = self
        for step in path:
            if isinstance(step, str):
                at = at.keys.setdefault(step, Names())
            else:
                at.items = at.items or Names()
                at = at.items
        if tree is not None:
            _put_type(at, tree)

    def wrong(self, value: bytes) -> str | None:
        """What is said of the first key in the wrong case; None if there is none."""
        try:
            record = json.loads(value)
        except (ValueError, RecursionError):
            return None
        return _wrong(self, record, ())


def _put_type(names: Names, tree: Type) -> None:
    """The keys of a type. Those of a map are values."""
    if isinstance(tree, Array):
        names.items = names.items or Names()
        _put_type(names.items, tree.element)
    elif isinstance(tree, Struct):
        for name, each in tree.members:
            _put_type(names.keys.setdefault(name, Names()), each)


def _wrong(names: Names, found: Any, path: Path) -> str | None:
    """Of a part of a record, which is at this path. Any: what JSON has."""
    if isinstance(found, list) and names.items is not None:
        parts = (_wrong(names.items, each, (*path, n)) for n, each in enumerate(found))
        return next(filter(None, parts), None)
    if not isinstance(found, dict) or not names.keys:
        return None
    lower = {name.lower(): name for name in names.keys if name not in found}
    for key, value in found.items():
        if key not in names.keys and key.lower() in lower:
            right = as_text((*path, lower[key.lower()]))
            told = as_text((*path, key)) if path else key
            return f"key {told!r} is in the wrong case: the field is {right!r}"
        if key in names.keys and (why := _wrong(names.keys[key], value, (*path, key))):
            return why
    return None


def odd_case(value: bytes, names: Iterable[str]) -> bool:
    """Whether one of these names may be a key of the value in another case. To parse it in order to
    know costs as much as ten records.
    """
    if b"\\u" in value or KELVIN in value:
        return True
    lower = value.lower()
    for name in names:
        if not name.isascii() or '"' in name or "\\" in name:
            return True
        quoted = f'"{name}"'.encode()
        if lower.count(quoted.lower()) != value.count(quoted):
            return True
    return False
