"""Record count: how many records a consumer finds at some offsets of a topic, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition

from spark_jobs.source.consumer import polled, reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.settings.installation import Settings


def count_records(
    settings: Settings, topic: str, parts: Mapping[int, Iterable[tuple[int, int]]]
) -> int:
    """Records of committed transactions, and of none: partition -> ranges of offsets, each without
    its end.

    Raises KafkaUnreachable, KafkaRefused or KafkaConfigInvalid.
    """
    ranges = [(p, first, stop) for p, of in parts.items() for first, stop in of]
    if not ranges:
        return 0
    with reading(settings, topic) as reader:
        return sum(_count(reader, topic, *each) for each in ranges)


def _count(reader: Consumer, topic: str, partition: int, first: int, stop: int) -> int:
    reader.assign([TopicPartition(topic, partition, first)])
    found, at = 0, first
    while at < stop:
        message = polled(reader)
        if message.error():
            break
        offset = message.offset()
        at = stop if offset is None else offset + 1  # only an error has none
        found += at <= stop
    return found
