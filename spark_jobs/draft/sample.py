"""Sample: the newest records of a topic, of a bounded number and size, read as any consumer reads
them. Nothing is committed to a consumer group.
"""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from spark_jobs.decode.formats import Records
from spark_jobs.errors import SampleUnusable
from spark_jobs.source.consumer import polled, reading
from spark_jobs.source.kafka_time import is_time
from spark_jobs.source.topic_state import topic_state

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings

MOST_BYTES: Final = 64_000_000
"""Of the values of a sample, keys and headers not counted."""
WHOLE: Final = {
    b"\x1f\x8b": ("compressed", "zcat"),
    b"\x28\xb5\x2f\xfd": ("compressed", "zstdcat"),
    b"[": ("an array of JSON", "jq -c '.[]'"),
}
"""With what a file begins that has no record a line -> what it is, and what makes lines of it."""
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
    """At most so many and MOST_BYTES, as many of each partition, in the order of their partitions
    and offsets.

    Raises TopicMissing, KafkaUnreachable, KafkaRefused, KafkaConfigInvalid or SampleUnusable.
    """
    state = topic_state(settings, topic)
    partitions = max(1, len(state.latest))
    each, size = max(1, most // partitions), MOST_BYTES // partitions
    ranges = {
        partition: (max(state.earliest[partition], end - each), end)
        for partition, end in state.latest.items()
    }
    with reading(settings, topic) as reader:
        found = [
            record
            for partition, (first, end) in sorted(ranges.items())
            if first < end
            for record in _newest(reader, TopicPartition(topic, partition, first), end, size)
        ]
    if not found:
        raise SampleUnusable.no_records(source=f"topic {topic}")
    return found


def of_file(path: Path, most: int) -> list[Sampled]:
    """One record a line, the first ones, which arrived now: so many and MOST_BYTES, and no more is
    read. Raises SampleUnusable.
    """
    now = int(datetime.now(UTC).timestamp() * 1000)
    found, left = list[Sampled](), MOST_BYTES
    try:
        with path.open("rb") as file:
            while len(found) < most and left > 0 and (line := file.readline(left)):
                left -= len(line)
                if value := (line if found else line.removeprefix(BOM_UTF8)).rstrip(b"\r\n"):
                    found.append(Sampled(0, len(found), now, None, value))
    except OSError as error:
        raise SampleUnusable.unreadable(path=path, error=error.strerror or error) from None
    if not found:
        raise SampleUnusable.no_records(source=path)
    _refuse_whole(path, found[0].value or b"")
    return found


def _refuse_whole(path: Path, first: bytes) -> None:
    """Raise SampleUnusable for a file that is one whole, by its first line."""
    for begins, (what, tool) in WHOLE.items():
        if first.lstrip().startswith(begins):
            command = f"{tool} {quote(str(path))}"
            raise SampleUnusable.no_lines(path=path, what=what, command=command)


def records(sample: list[Sampled]) -> Records:
    """As decoders take them. A timestamp that is no time is none (source/kafka_time.py)."""
    given = (each.timestamp for each in sample)
    stamps = [None if at is None or not is_time(at) else at * 1000 for at in given]
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
            parsed = json.loads((each.value or b"").decode())  # no mark, no UTF-16: as decoders
        except (ValueError, RecursionError):
            continue
        if isinstance(parsed, dict):
            found.append((each, parsed))
    if len(found) * 2 < len(valued) or not found:
        raise SampleUnusable.no_json(found=len(found), sampled=len(valued))
    return found


def _newest(reader: Consumer, begin: TopicPartition, end: int, most: int) -> list[Sampled]:
    """Those from there up to the offset `end`; of more bytes than `most` about the newest of them:
    as many as the oldest of so many bytes.
    """
    found, whole = _read(reader, begin, end, most)
    if whole:
        return found
    begin.offset = max(begin.offset, end - len(found))
    return _read(reader, begin, end, most)[0]


def _read(
    reader: Consumer, begin: TopicPartition, end: int, most: int
) -> tuple[list[Sampled], bool]:
    """And whether these are all: the last one may go beyond so many bytes."""
    reader.assign([begin])
    found, size = list[Sampled](), 0
    while size <= most:
        message = polled(reader)
        if message.error():
            return found, True
        kind, at = message.timestamp()
        value, offset = message.value(), message.offset() or 0
        headers = [*(message.headers() or ())]
        found.append(
            Sampled(begin.partition, offset, at if kind else None, message.key(), value, headers)
        )
        size += len(value or b"")
        if offset + 1 >= end:
            return found, True
    return found, False
