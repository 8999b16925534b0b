"""Record count: how many records a consumer finds at some offsets of a topic, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from spark_jobs.errors import KafkaUnreachable
from spark_jobs.source.consumer import consumer
from spark_jobs.source.refusal import format_error, refusal
from spark_jobs.source.topic_state import TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.settings.installation import Settings


def count_records(
    settings: Settings, topic: str, parts: Mapping[int, Iterable[tuple[int, int]]]
) -> int:
    """Records of committed transactions, and those of none: partition -> ranges of offsets, each
    without its end.

    Raises KafkaUnreachable, KafkaRefused or KafkaConfigInvalid.
    """
    ranges = [(p, first, stop) for p, of in parts.items() for first, stop in of]
    if not ranges:
        return 0
    reader = consumer(settings)
    try:
        return sum(_count(reader, topic, *each) for each in ranges)
    except KafkaException as failed:
        error: KafkaError = failed.args[0]
        raise refusal([error], topic, settings) or KafkaUnreachable.count_failed(
            brokers=settings.kafka,
            topic=topic,
            error=format_error(error),
        ) from None
    finally:
        reader.close()


def _count(reader: Consumer, topic: str, partition: int, first: int, stop: int) -> int:
    reader.assign([TopicPartition(topic, partition, first)])
    found, at = 0, first
    while at < stop:
        message = reader.poll(TIMEOUT_SECONDS)
        if message is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - it has no public name
        if error := message.error():
            if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - as above
                break
            raise KafkaException(error)
        offset = message.offset()
        at = stop if offset is None else offset + 1  # only an error has none
        found += at <= stop
    return found
