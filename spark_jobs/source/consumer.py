"""Consumer: reads records at offsets that it is given. Nothing is committed to a group."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from spark_jobs.errors import KafkaUnreachable
from spark_jobs.source.client_options import client_options
from spark_jobs.source.port import Sampled
from spark_jobs.source.refusal import format_error, refusal
from spark_jobs.source.topic_state import TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from confluent_kafka import Message

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts


def _consumer(settings: Settings, *, uncommitted: bool) -> Consumer:
    return Consumer(
        client_options(settings)
        | {
            "group.id": "sluice-plan",  # the client asks for one
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "isolation.level": "read_uncommitted" if uncommitted else "read_committed",
            # What is asked for is there. By default a broker without more answers after 500 ms, and
            # the end of a partition, and the next range that is read, wait for that.
            "fetch.wait.max.ms": 10,
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


def sampled(
    settings: Settings, topic: str, parts: Parts, *, uncommitted: bool = False
) -> Iterator[Sampled]:
    """The records at these offsets, and some between near ranges. With `uncommitted` also
    records of aborted transactions.

    Raises KafkaUnreachable, KafkaRefused, KafkaConfigInvalid.
    """
    with reading(settings, topic, uncommitted=uncommitted) as reader:
        for partition, ranges in parts.items():
            for first, stop in ranges:
                reader.assign([TopicPartition(topic, partition, first)])
                yield from _until(reader, partition, stop)


def _until(reader: Consumer, partition: int, stop: int) -> Iterator[Sampled]:
    while not (message := polled(reader)).error():
        offset = message.offset() or 0
        if offset >= stop:
            return
        kind, at = message.timestamp()
        headers = [*(message.headers() or ())]
        yield Sampled(
            partition, offset, at if kind else None, message.key(), message.value(), headers
        )
        if offset + 1 >= stop:
            return


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
