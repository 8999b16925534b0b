"""Consumer: reads records at offsets that it is given. Nothing is committed to a group."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException

from spark_jobs.errors import KafkaUnreachable
from spark_jobs.source import token_endpoint
from spark_jobs.source.refusal import format_error, refusal
from spark_jobs.source.topic_state import TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confluent_kafka import Message

    from spark_jobs.settings.installation import Settings


def _consumer(settings: Settings, *, uncommitted: bool) -> Consumer:
    return Consumer(
        settings.kafka_config.librdkafka()
        | token_endpoint.authorities(settings.kafka_config)
        | {
            "bootstrap.servers": settings.kafka,
            "log_level": 0,
            "group.id": "sluice-plan",  # the client asks for one
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_uncommitted" if uncommitted else "read_committed",
        }
    )


@contextmanager
def reading(settings: Settings, topic: str, *, uncommitted: bool = False) -> Iterator[Consumer]:
    """One that is closed behind the block. `uncommitted`: it gets records of aborted transactions
    too. What Kafka refuses in it is raised as KafkaUnreachable,
    KafkaRefused or KafkaConfigInvalid.
    """
    reader = _consumer(settings, uncommitted=uncommitted)
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


def polled(reader: Consumer) -> Message:
    """The next record, or with an `error()` the end of a partition. Raises KafkaException."""
    message = reader.poll(TIMEOUT_SECONDS)
    if message is None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - it has no public name
    error = message.error()
    if error and error.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - as above
        raise KafkaException(error)
    return message
