"""Leaving: for how long Kafka keeps the records of a topic, and which of them its retention
certainly leaves at coming times.

Kafka removes whole segments, oldest first, each when its newest record is older than retention.ms.
So an offset stays as long as it or one before it is young enough.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, Self

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka.admin import OffsetSpec

from spark_jobs.source.port import Leaving
from spark_jobs.source.positions import Positions
from spark_jobs.source.topic_state import admin_client, answered, asked, configuration, setting
from spark_jobs.values.spans import EPOCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confluent_kafka.admin import AdminClient

    from spark_jobs.settings.installation import Settings

MILLISECOND, EVER = timedelta(milliseconds=1), timedelta(days=365_000)


class Policy(NamedTuple):
    """How Kafka removes records of a topic."""

    age: timedelta | None = None
    """How old a segment's newest record is when the segment goes; None for ever."""
    untold: str = ""
    """Why `age` does not tell when a record goes; empty if it does."""

    @classmethod
    def of(cls, client: AdminClient, topic: str) -> Self:
        """Raises what librdkafka does."""
        configured = configuration(client, topic)
        try:
            policy, age, size = (
                setting(configured, name)
                for name in ("cleanup.policy", "retention.ms", "retention.bytes")
            )
            given = int(age)
        except (KafkaException, KeyError, ValueError):  # not every server answers
            return cls(untold=f"Kafka does not say how long topic {topic} keeps its records")
        bounded = 0 <= given < EVER // MILLISECOND and "delete" in policy
        kept = given * MILLISECOND if bounded else None
        if policy != "delete":
            return cls(kept, f"Kafka compacts topic {topic}")
        if int(size or 0) >= 0:
            return cls(kept, f"topic {topic} loses records by its size (retention.bytes)")
        return cls(kept)


def stays(settings: Settings, topic: str) -> str:
    """See port.py. Raises the same errors as topic_state."""
    with admin_client(settings, topic) as client:
        age, untold = Policy.of(client, topic)
    kept = f"until its segment is {age} old" if age else "for ever"
    return f"Kafka keeps a record of {topic} {kept}" + (f", but: {untold}" if untold else "")


def leaving(
    settings: Settings, topic: str, partitions: Sequence[int], times: Sequence[datetime]
) -> Leaving:
    """See port.py. Raises the same errors as topic_state."""
    with admin_client(settings, topic) as client:
        age, untold = Policy.of(client, topic)
        if untold:
            return Leaving.not_told(untold, partitions, times)
        if age is None:
            return Leaving((Positions(),) * len(times))
        since = [
            OffsetSpec.for_timestamp(max((at - age - EPOCH) // MILLISECOND, 0)) for at in times
        ]
        # The ends last: what comes in between stays longer than all before it.
        futures = [asked(client, topic, partitions, each) for each in since]
        last = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        ends = answered(asked(client, topic, partitions, last, IsolationLevel.READ_UNCOMMITTED))
        return Leaving(
            tuple(
                Positions(
                    {
                        p: ends[p].offset if found.offset < 0 else found.offset
                        for p, found in answered(each).items()
                    }
                )
                for each in futures
            )
        )
