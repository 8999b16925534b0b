"""Open transaction: since when records wait behind an open transaction: its first record is where
the last stable offset is, and a read_uncommitted consumer sees it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

from spark_jobs.messages.part import HeldBack
from spark_jobs.source.client_options import client_options
from spark_jobs.source.kafka_time import clamped, is_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Positions

PATIENCE_SECONDS = 5.0
"""It is told only: a plan does not fail for it, nor wait for long."""


def held_back(
    settings: Settings, topic: str, stable: Positions, waits: Mapping[int, int]
) -> dict[int, HeldBack]:
    """Of each partition with so many offsets behind its last stable one."""
    since = _times(settings, topic, stable) if waits else {}
    return {
        partition: HeldBack(
            offsets=offsets, since=since.get(partition), first=stable.by_partition.get(partition)
        )
        for partition, offsets in waits.items()
    }


def _times(settings: Settings, topic: str, at: Positions) -> dict[int, datetime]:
    """Partition -> the Kafka timestamp of the first record from this offset on; as many as the
    brokers tell in time.
    """
    found, asked = dict[int, datetime](), {*at.partitions}
    options = client_options(settings) | {
        "group.id": "unused",  # the client wants one; without a subscription it joins none
        "enable.auto.commit": False,
        "isolation.level": "read_uncommitted",
    }
    places = [TopicPartition(topic, *each) for each in at.by_partition.items()]
    with suppress(KafkaException):
        consumer = Consumer(options)
        try:
            consumer.assign(places)
            deadline = time.monotonic() + PATIENCE_SECONDS
            while asked and time.monotonic() < deadline:
                message = consumer.poll(0.2)
                if message is None or message.error():
                    continue
                partition, (_, milliseconds) = message.partition(), message.timestamp()
                assert partition is not None
                if partition in asked and is_time(milliseconds):
                    found[partition] = clamped(milliseconds)
                asked.discard(partition)
                consumer.pause([TopicPartition(topic, partition)])
        finally:
            consumer.close()
    return found
