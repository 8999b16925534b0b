"""Sample: the newest records of a topic, a bounded number, read as any consumer reads them. Nothing
is committed to a consumer group.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from spark_jobs.decode.formats import Records
from spark_jobs.errors import KafkaUnreachable, SampleUnusable
from spark_jobs.source.consumer import consumer
from spark_jobs.source.refusal import format_error, refusal
from spark_jobs.source.topic_state import TIMEOUT_SECONDS, topic_state

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


class Sampled(NamedTuple):
    """One record."""

    partition: int
    offset: int
    timestamp: int | None
    """Kafka's, in milliseconds since 1970."""
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


def of_topic(settings: Settings, topic: str, most: int) -> list[Sampled]:
    """At most so many, as many of each partition, in the order of their partitions and offsets.

    Raises TopicMissing, KafkaUnreachable, KafkaRefused, KafkaConfigInvalid or SampleUnusable.
    """
    state = topic_state(settings, topic)
    each = max(1, most // max(1, len(state.latest)))
    ranges = {
        partition: (max(state.earliest[partition], end - each), end)
        for partition, end in state.latest.items()
    }
    reader = consumer(settings)
    try:
        found = [
            record
            for partition, (first, end) in sorted(ranges.items())
            if first < end
            for record in _read(reader, topic, partition, first, end)
        ]
    except KafkaException as failed:
        error: KafkaError = failed.args[0]
        raise refusal([error], topic, settings) or KafkaUnreachable.count_failed(
            brokers=settings.kafka, topic=topic, error=format_error(error)
        ) from None
    finally:
        reader.close()
    if not found:
        raise SampleUnusable.no_records(source=f"topic {topic}")
    return found


def of_file(path: Path, most: int) -> list[Sampled]:
    """One record a line, which arrived now. Raises SampleUnusable."""
    now = int(datetime.now(UTC).timestamp() * 1000)
    try:
        lines = path.read_bytes().splitlines()[:most]
    except OSError as error:
        raise SampleUnusable.unreadable(path=path, error=error.strerror or error) from None
    found = [Sampled(0, place, now, None, line) for place, line in enumerate(lines) if line.strip()]
    if not found:
        raise SampleUnusable.no_records(source=path)
    return found


def records(sample: list[Sampled]) -> Records:
    """As decoders take them."""
    stamps = [None if each.timestamp is None else each.timestamp * 1000 for each in sample]
    headers = [[{"key": k, "value": v} for k, v in each.headers] for each in sample]
    return Records(
        values=pa.array([each.value for each in sample], pa.binary()),
        keys=pa.array([each.key for each in sample], pa.binary()),
        partition=pa.array([each.partition for each in sample], pa.int32()),
        offset=pa.array([each.offset for each in sample], pa.int64()),
        timestamp=pa.array(stamps, pa.timestamp("us", "UTC")),
        headers=pa.array(headers, HEADERS),
    )


def objects(sample: Sequence[Sampled]) -> list[tuple[Sampled, dict[str, Any]]]:
    """Those whose value is a JSON object, with it. Raises SampleUnusable where fewer than half
    are.
    """
    found = list[tuple[Sampled, dict[str, Any]]]()
    valued = [each.value for each in sample if each.value]
    for each in sample:
        try:
            parsed = json.loads(each.value or b"")
        except (ValueError, RecursionError):
            continue
        if isinstance(parsed, dict):
            found.append((each, parsed))
    if len(found) * 2 < len(valued) or not found:
        registry = sum(value[:1] == b"\0" for value in valued) * 2 > len(valued)
        reason = SampleUnusable.by_registry if registry else SampleUnusable.no_json
        raise reason(found=len(found), sampled=len(valued))
    return found


def _read(reader: Consumer, topic: str, partition: int, first: int, end: int) -> list[Sampled]:
    reader.assign([TopicPartition(topic, partition, first)])
    found = list[Sampled]()
    while True:
        message = reader.poll(TIMEOUT_SECONDS)
        if message is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - it has no public name
        if error := message.error():
            if error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - as above
                return found
            raise KafkaException(error)
        kind, at = message.timestamp()
        found.append(
            Sampled(
                partition,
                message.offset() or 0,
                at if kind else None,
                message.key(),
                message.value(),
                [*(message.headers() or ())],
            )
        )
        if (message.offset() or 0) + 1 >= end:
            return found
