"""Tags: a list of objects with a key and a value each, whose values have paths of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from spark_jobs.values.path import Member, Path, as_text, readable

KEYS: Final = ("key", "name", "k")
VALUES: Final = ("value", "v")
MOST: Final = 3
"""Tags that are named."""


def of_tags(path: Path, lists: Sequence[Sequence[Any]]) -> str:
    """The paths of the most frequent tags; nothing where the lists have no tags."""
    objects = [each for one in lists for each in one]
    for key in KEYS:
        for value in VALUES:
            if objects and all(_is_tag(each, key, value) for each in objects):
                usual = Counter(each[key] for each in objects).most_common(MOST)
                paths = (_path(path, key, text, value, objects) for text, _ in usual)
                told = ", ".join(as_text(each) for each in paths if readable(each))
                return f"keys and values, which have paths: {told}"
    return ""


def _is_tag(given: Any, key: str, value: str) -> bool:
    return (
        isinstance(given, dict) and isinstance(given.get(key), str) and {key, value} == given.keys()
    )


def _path(path: Path, key: str, text: str, value: str, objects: Sequence[Any]) -> Path:
    """Of a value that is an object of one member it is that member's: OpenTelemetry's have it."""
    found = next(each[value] for each in objects if each[key] == text)
    inner = [*found] if isinstance(found, dict) and len(found) == 1 else []
    return (*path, Member(key, text), value, *inner)
