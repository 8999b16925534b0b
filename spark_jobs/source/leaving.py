"""Leaving: which records of a topic Kafka's retention certainly leaves at coming times.

Kafka removes whole segments, oldest first, each when its newest record is older than retention.ms.
So an offset stays as long as it or one before it is young enough.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from confluent_kafka import IsolationLevel, KafkaException
from confluent_kafka.admin import OffsetSpec

from spark_jobs.source.port import Leaving
from spark_jobs.source.positions import Positions
from spark_jobs.source.topic_state import admin_client, answered, asked, configuration, setting
from spark_jobs.values.spans import EPOCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.settings.installation import Settings

MILLISECOND = timedelta(milliseconds=1)
UNLIMITED = "-1"


def leaving(
    settings: Settings, topic: str, partitions: Sequence[int], times: Sequence[datetime]
) -> Leaving:
    """See port.py. Raises the same errors as topic_state."""
    with admin_client(settings, topic) as client:
        policy = age = size = ""
        with suppress(KafkaException, KeyError):  # not every server answers
            configured = configuration(client, topic)
            policy, age, size = (
                setting(configured, name)
                for name in ("cleanup.policy", "retention.ms", "retention.bytes")
            )
        if why := _untold(topic, policy, age, size):
            return Leaving.not_told(why, partitions, times)
        if age == UNLIMITED:
            return Leaving((Positions(),) * len(times))
        young = [at - int(age) * MILLISECOND for at in times]
        since = [OffsetSpec.for_timestamp(max((at - EPOCH) // MILLISECOND, 0)) for at in young]
        # The ends last: what comes in between stays longer than all before it.
        futures = [asked(client, topic, partitions, each) for each in since]
        ends = answered(
            asked(
                client,
                topic,
                partitions,
                OffsetSpec.latest(),  # type: ignore[no-untyped-call]
                IsolationLevel.READ_UNCOMMITTED,
            )
        )
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


def _untold(topic: str, policy: str, age: str, size: str) -> str:
    if not (policy and age and size):
        return f"Kafka does not say how long topic {topic} keeps its records"
    if policy != "delete":
        return f"Kafka compacts topic {topic}"
    if size != UNLIMITED:
        return f"topic {topic} loses records by its size (retention.bytes)"
    return ""
