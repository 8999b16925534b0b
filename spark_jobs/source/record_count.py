"""Record count: how many records a consumer finds at some offsets of a topic, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from spark_jobs.errors import KafkaUnreachable
from spark_jobs.source import token_endpoint
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
    consumer = Consumer(
        settings.kafka_config.librdkafka()
        | token_endpoint.authorities(settings.kafka_config)
        | {
            "bootstrap.servers": settings.kafka,
            "log_level": 0,
            "group.id": "sluice-plan",  # the client asks for one; nothing is committed
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
        },
    )
    try:
        return sum(_count(consumer, topic, *each) for each in ranges)
    except KafkaException as failed:
        error: KafkaError = failed.args[0]
        raise refusal([error], topic, settings) or KafkaUnreachable.count_failed(
            brokers=settings.kafka,
            topic=topic,
            error=format_error(error),
        ) from None
    finally:
        consumer.close()


def _count(consumer: Consumer, topic: str, partition: int, first: int, stop: int) -> int:
    consumer.assign([TopicPartition(topic, partition, first)])
    found, at = 0, first
    while at < stop:
        message = consumer.poll(TIMEOUT_SECONDS)
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
