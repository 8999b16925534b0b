"""Tried: what a declaration makes of a sample, by the decoder of every run, and without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from spark_jobs.decode.prepared import prepare
from spark_jobs.draft.sample import Sampled, records
from spark_jobs.spec import Topic


class Tried(NamedTuple):
    """In the order of the sample."""

    good: list[Sampled]
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
    given = records(list(sample))
    wanted = topic.columns
    columns, reasons = prepare(topic, root, None, wanted).decoder().decode(given)
    values = [column.to_pylist() for column in columns]
    malformed, examples = Counter[str](), dict[str, Sampled]()
    good, rows, times, dropped, premature = list[Sampled](), [], list[float](), 0, 0
    ahead_ms = topic.max_ahead.total_seconds() * 1000
    for place, why in enumerate(reasons):
        if why is not None:
            malformed[why] += 1
            examples.setdefault(why, sample[place])
        elif topic.tombstones == "dropped" and sample[place].value is None:
            dropped += 1
        else:
            row = {name: of[place] for name, of in zip(wanted, values, strict=True)}
            at, arrived = row[topic.event_time].timestamp() * 1000, sample[place].timestamp
            good.append(sample[place])
            rows.append(row)
            if arrived is not None and at > arrived + ahead_ms:
                premature += 1
            else:
                times.append(at)
    return Tried(good, rows, malformed, examples, dropped, premature, times)
