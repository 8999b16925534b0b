"""Topics: what each of several topics brought, from the accounts in ops.batches."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from spark_jobs.ops.shown import TopicLine
from spark_jobs.ops.views import COUNTS_OF_A_TOPIC
from spark_jobs.spans.span import EPOCH, MICROSECOND

NEWEST: Final = "last_event_us"
"""The name of the newest event time in an account: microseconds since the epoch."""


def topic_lines(accounts: Iterable[str | None]) -> tuple[TopicLine, ...]:
    """The sums over the batches of a run; nothing where the pipeline has one topic."""
    counts, newest = dict[str, Counter[str]](), dict[str, int]()
    for account in filter(None, accounts):
        for name, each in json.loads(account).items():
            at = each.pop(NEWEST, None)
            counts.setdefault(name, Counter()).update(each)
            if at is not None:
                newest[name] = max(at, newest.get(name, at))
    first = max(newest.values(), default=0)
    return tuple(
        TopicLine(
            topic=name,
            newest=_moment(newest.get(name)),
            behind=(first - newest[name]) * MICROSECOND if name in newest else None,
            **{each: of[each] for each in COUNTS_OF_A_TOPIC if each in TopicLine.model_fields},
        )
        for name, of in counts.items()
    )


def by_topic(batches: Iterable[Mapping[str, Any]], account: str) -> Iterator[dict[str, Any]]:
    """Each row of ops.batches as one for each topic. `account`: the name of its column."""
    for row in batches:
        for name, of in json.loads(row[account]).items():
            counts = {each: of.get(each, 0) for each in COUNTS_OF_A_TOPIC}
            yield {**row, **counts, "topic": name, "newest": _moment(of.get(NEWEST))}


def _moment(microseconds: int | None) -> datetime | None:
    return None if microseconds is None else EPOCH + microseconds * MICROSECOND
