"""Unseen: the declared paths that no record of a sample has. Such a field is null in every row, and
no record is malformed for it, if it is optional.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.decode.formats import enveloped
from spark_jobs.draft.inflated import compressed_by, inflated
from spark_jobs.spec import Json, Topic
from spark_jobs.spec.fields.place import Place
from spark_jobs.values.path import Path, as_text

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled


class Unseen(NamedTuple):
    """A field without a value in every record."""

    field: str
    path: str
    """Of several the first."""
    nearest: str | None
    """A path that records have."""
    records: int
    """That were looked at."""


def unseen(topic: Topic, sample: Sequence[Sampled]) -> Iterator[Unseen]:
    """The fields of JSON and of headers. A key that is there with null is seen."""
    headers = [dict(each.headers) for each in sample]
    if isinstance(topic.format.within, Json):
        by = compressed_by(sample)
        values = [_parsed(each.value) for each in (inflated(sample, by) if by else sample)]
        if around := enveloped(topic):
            values = [around.as_object(*both) for both in zip(values, headers, strict=True)]
        yield from _lacking(topic.value_places, values)
    if isinstance(topic.key.within, Json):
        yield from _lacking(topic.key_places, [_parsed(each.key) for each in sample])
    fields = (field for field in topic.fields if field.part == "header")
    yield from _lacking([Place(field, field.paths) for field in fields], headers)


def _lacking(places: Sequence[Place], records: Sequence[Any]) -> Iterator[Unseen]:
    for place in places:
        bases = [_walked(each, base) for each in records for base in place.bases]
        found = [end for end, missed in bases if not missed and isinstance(end, dict)]
        ends = [(path, *_walked(each, path)) for each in found for path in place.paths]
        if not ends or any(not missed for _, _, missed in ends):
            continue
        nearest = next(filter(None, map(_nearest, *zip(*ends, strict=True))), None)
        yield Unseen(place.field.name, as_text(place.paths[0]), nearest, len(found))


def _walked(found: Any, path: Path) -> tuple[Any, Path]:
    """How far a record has the path: what is there, and the steps that it lacks."""
    for at, step in enumerate(path):
        match found, step:
            case dict(), str() if step in found:
                found = found[step]
            case list(), int() if step < len(found):
                found = found[step]
            case _:
                return found, path[at:]
    return found, ()


def _nearest(path: Path, end: Any, missed: Path) -> str | None:
    """The path up to a key that has nearly the name of the step that is lacking."""
    if not isinstance(end, dict) or isinstance(missed[0], int):
        return None
    near = get_close_matches(missed[0], end, n=1)
    return as_text((*path[: len(path) - len(missed)], *near)) if near else None


def _parsed(value: bytes | None) -> Any:
    """None where it is no JSON: such a record is malformed."""
    try:
        return json.loads(value or b"null")
    except (ValueError, RecursionError):
        return None
