"""Answer: what came of a sample in a preview, from the application to whoever started it; and the
declared paths that no record of the sample has.

Such a field is null in every row, and no record is malformed for it, if it is optional.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from spark_jobs.decode.formats import enveloped, taken_apart
from spark_jobs.draft.sample import compressed_by, inflated, records
from spark_jobs.spec import Json, Topic
from spark_jobs.spec.fields.place import Place
from spark_jobs.values.path import Member, Path, as_text
from spark_jobs.values.times import iso

if TYPE_CHECKING:
    from spark_jobs.draft.sample import Sampled

FILE: Final = "answer.json"
"""In the preview's folder."""
SAMPLE: Final = "sample.jsonl"
"""Beside it (draft/sample.py)."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rejected(_Part):
    """Records that are malformed or premature for one reason."""

    kind: str
    reason: str
    records: int
    partition: int
    """Of the first of them."""
    offset: int


class Answer(_Part):
    """What a run made of the sample."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """Some of the table's, with values by `plain`."""
    row_count: int
    counts: dict[str, int]
    """Outcome -> records."""
    rejected: tuple[Rejected, ...]
    late: dict[str, float]
    """Watermark delay -> the share of the records that would be late."""
    state_rows: int
    state_bytes: int
    open_rows: int
    """Those of the rows that are of windows which only more records would close."""
    seconds: float
    """Of the runs, without Spark's start."""


def plain(value: Any) -> Any:
    """A value as JSON has it, to be read by a person."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case datetime():
            return iso(value, " ", "seconds")
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case list():
            return [plain(each) for each in value]
        case dict():
            return {str(name): plain(each) for name, each in value.items()}
        case _:
            return str(value)


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
        if topic.each:
            elements = taken_apart(records([*sample]), topic, None).records.values
            values = [_parsed(each.as_py()) for each in elements]
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
            case list(), Member() if (one := step.among(found)) is not None:
                found = one
            case _:
                return found, path[at:]
    return found, ()


def _nearest(path: Path, end: Any, missed: Path) -> str | None:
    """The path up to a key that has nearly the name of the step that is lacking."""
    if not isinstance(end, dict) or not isinstance(missed[0], str):
        return None
    near = get_close_matches(missed[0], end, n=1)
    return as_text((*path[: len(path) - len(missed)], *near)) if near else None


def _parsed(value: bytes | None) -> Any:
    """None where it is no JSON: such a record is malformed."""
    try:
        return json.loads(value or b"null")
    except (ValueError, RecursionError):
        return None
