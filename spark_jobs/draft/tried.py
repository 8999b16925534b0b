"""Tried: what a declaration makes of a sample, by the decoder of every run, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.decode.formats import elements_of
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.draft.sample import Sampled, records
from spark_jobs.spec.fields.each import of_element
from spark_jobs.values.own_columns import EMPTY

if TYPE_CHECKING:
    from spark_jobs.spec import Topic


class Tried(NamedTuple):
    """In the order of the sample."""

    good: list[Sampled]
    """Of a value with many records itself, once for each."""
    rows: list[dict[str, Any]]
    """Of the good records."""
    malformed: Counter[str]
    """Reason -> records."""
    examples: dict[str, Sampled]
    """Reason -> the first of them."""
    dropped: int
    premature: int
    """Of the good ones those that a run would put aside, as far as Kafka's timestamp tells."""
    times_ms: list[float]
    """Event times of the others."""


def tried(topic: Topic, sample: Sequence[Sampled], root: str = "") -> Tried:
    """Raises SpecInvalid where a declared schema does not fit the fields."""
    wanted = topic.columns
    prepared = prepare(topic, root, None, wanted)
    parts = [*_parts(topic, sample, prepared.given[0])]
    columns, reasons = prepared.decoder().decode(records([part.record for part in parts]))
    values = [column.to_pylist() for column in columns]
    malformed, examples = Counter[str](), dict[str, Sampled]()
    good, rows, times, dropped, premature = list[Sampled](), [], list[float](), 0, 0
    ahead_ms = topic.max_ahead.total_seconds() * 1000
    for place, (part, reason) in enumerate(zip(parts, reasons, strict=True)):
        if why := part.why or reason:
            why = of_element(why) if topic.each else why
            malformed[why] += 1
            examples.setdefault(why, part.of)
        elif topic.tombstones == "dropped" and part.record.value is None:
            dropped += 1
        else:
            row = {name: of[place] for name, of in zip(wanted, values, strict=True)}
            at, arrived = row[topic.event_time].timestamp() * 1000, part.of.timestamp
            good.append(part.of)
            rows.append(row)
            if arrived is not None and at > arrived + ahead_ms:
                premature += 1
            else:
                times.append(at)
    return Tried(good, rows, malformed, examples, dropped, premature, times)


class _Part(NamedTuple):
    """A record as it is decoded."""

    record: Sampled
    of: Sampled
    """As Kafka has it."""
    why: str | None = None
    """Why it is malformed, whatever its fields are."""


def _parts(topic: Topic, sample: Sequence[Sampled], given: object) -> Iterator[_Part]:
    if topic.each is None:
        yield from (_Part(each, each) for each in sample)
        return
    elements = elements_of(topic, given).of(records([*sample]))
    for each, found in zip(sample, elements, strict=True):
        for element in found:
            if element.number != EMPTY:
                yield _Part(each._replace(value=element.value), each, element.why)
