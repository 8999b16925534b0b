"""Between: the records of a topic from one offset to another, without Spark."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from spark_jobs.errors import KafkaUnreachable
from spark_jobs.source.consumer import consumer
from spark_jobs.source.refusal import format_error, refusal
from spark_jobs.source.topic_state import TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from confluent_kafka import Message

    from spark_jobs.settings.installation import Settings


def between(
    settings: Settings, topic: str, ranges: Mapping[int, tuple[int, int]]
) -> Iterator[Message]:
    """Of each partition those of committed transactions, and of none, up to an offset which is not
    among them. In the order of their offsets, in any order of partitions.

    Raises KafkaUnreachable, KafkaRefused or KafkaConfigInvalid.
    """
    left = {p: end for p, (first, end) in ranges.items() if first < end}
    if not left:
        return
    with _reader(settings, topic) as reader:
        reader.assign([TopicPartition(topic, p, ranges[p][0]) for p in left])
        while left:
            message = reader.poll(TIMEOUT_SECONDS)
            if message is None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - it has no public name
            partition, error = message.partition(), message.error()
            if error and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - as above
                raise KafkaException(error)
            offset = message.offset() or 0
            if partition not in left:
                continue
            if not error and offset < left[partition]:
                yield message
            if error or offset + 1 >= left[partition]:
                del left[partition]
                reader.incremental_unassign([TopicPartition(topic, partition)])


@contextmanager
def _reader(settings: Settings, topic: str) -> Iterator[Consumer]:
    reader = consumer(settings)
    try:
        yield reader
    except KafkaException as failed:
        error: KafkaError = failed.args[0]
        raise refusal([error], topic, settings) or KafkaUnreachable.count_failed(
            brokers=settings.kafka,
            topic=topic,
            error=format_error(error),
        ) from None
    finally:
        reader.close()
