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
    known: bool = True
    """Whether the brokers say it."""

    @classmethod
    def of(cls, client: AdminClient, topic: str) -> Self:
        """Raises what librdkafka does."""
        configured = configuration(client, topic)
        names = ("cleanup.policy", "retention.ms", "retention.bytes")
        try:
            return cls.parsed(topic, *(setting(configured, name) for name in names))
        except (KafkaException, KeyError, ValueError):  # not every server answers
            why = f"Kafka does not say how long topic {topic} keeps its records"
            return cls(untold=why, known=False)

    @classmethod
    def parsed(cls, topic: str, policy: str, age: str, size: str) -> Self:
        """By the values of cleanup.policy, retention.ms and retention.bytes. Raises ValueError for
        what is no number.
        """
        given, most = int(age), int(size)
        bounded = 0 <= given < EVER // MILLISECOND and "delete" in policy
        kept = given * MILLISECOND if bounded else None
        if policy != "delete":
            return cls(kept, f"Kafka compacts topic {topic}")
        if most >= 0:
            return cls(kept, f"topic {topic} loses records by its size (retention.bytes)")
        return cls(kept)

    def told(self, topic: str) -> str:
        """In words.

        >>> Policy.parsed("sales", "delete", "0", "1000").told("sales").partition(", but: ")[0]
        'Kafka keeps a record of sales until its segment is 0:00:00 old'
        >>> Policy(untold="Kafka does not say it", known=False).told("sales")
        'Kafka does not say it'
        """
        if not self.known:
            return self.untold
        kept = "for ever" if self.age is None else f"until its segment is {self.age} old"
        but = f", but: {self.untold}" if self.untold else ""
        return f"Kafka keeps a record of {topic} {kept}{but}"


def stays(settings: Settings, topic: str) -> str:
    """See port.py. Raises the same errors as topic_state."""
    with admin_client(settings, topic) as client:
        return Policy.of(client, topic).told(topic)


def leaving(
    settings: Settings, topic: str, partitions: Sequence[int], times: Sequence[datetime]
) -> Leaving:
    """See port.py. Raises the same errors as topic_state."""
    with admin_client(settings, topic) as client:
        age, untold, _ = Policy.of(client, topic)
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
