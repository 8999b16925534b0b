"""Between: the records of a topic from one offset to another, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition

from spark_jobs.source.consumer import polled, reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from confluent_kafka import Message

    from spark_jobs.settings.installation import Settings


def between(
    settings: Settings, topic: str, ranges: Mapping[int, tuple[int, int]]
) -> Iterator[Message]:
    """Of each partition the records of committed transactions, and of none, up to an offset,
    exclusive. In the order of their offsets, in any order of partitions.

    Raises KafkaUnreachable, KafkaRefused or KafkaConfigInvalid.
    """
    left = {p: end for p, (first, end) in ranges.items() if first < end}
    if not left:
        return
    with reading(settings, topic) as reader:
        reader.assign([TopicPartition(topic, p, ranges[p][0]) for p in left])
        while left:
            message = polled(reader)
            partition, ended = message.partition(), message.error() is not None
            offset = message.offset() or 0
            if partition not in left:
                continue
            if not ended and offset < left[partition]:
                yield message
            if ended or offset + 1 >= left[partition]:
                del left[partition]
                reader.incremental_unassign([TopicPartition(topic, partition)])
