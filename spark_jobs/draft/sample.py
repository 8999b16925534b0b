"""Sample: the newest records of a topic, of a bounded number and size, read as any consumer reads
them. Nothing is committed to a consumer group.

It is kept in a file for a process that tries it, and inflated if values were compressed one by one.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final, Literal

import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition

from spark_jobs.decode.columns.column import Wrong
from spark_jobs.decode.compressed_decoder import gunzip, unzstd
from spark_jobs.decode.formats import Records
from spark_jobs.errors import SampleUnusable
from spark_jobs.source.consumer import polled, reading
from spark_jobs.source.kafka_time import is_time
from spark_jobs.source.port import Sampled as Sampled  # noqa: PLC0414 - of a sample, for those that import it from here
from spark_jobs.source.sources import source_of
from spark_jobs.source.topic_state import topic_state
from spark_jobs.spec import Compressed

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

MOST_BYTES: Final = 64_000_000
"""Of the values of a sample, keys and headers not counted."""
WHOLE: Final = {
    b"\x1f\x8b": ("compressed", "zcat"),
    b"\x28\xb5\x2f\xfd": ("compressed", "zstdcat"),
    b"[": ("an array of JSON", "jq -c '.[]'"),
}
"""With what a file begins that has no record a line -> what it is, and what makes lines of it."""
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def of_topic(settings: Settings, topic: str, most: int) -> list[Sampled]:
    """The newest of each partition, at most so many and MOST_BYTES together, in the order of their
    partitions and offsets.

    Raises TopicMissing, KafkaUnreachable, KafkaRefused, KafkaConfigInvalid or SampleUnusable.
    """
    state = topic_state(settings, topic)
    size = MOST_BYTES // max(1, len(state.latest))
    whole = {each: span for each, [span] in state.earliest.parts(state.latest).items()}
    wanted = shares({each: end - first for each, (first, end) in whole.items()}, most)
    with reading(settings, topic) as reader:
        found = [
            record
            for partition, (_, end) in whole.items()
            for begin in [TopicPartition(topic, partition, end - wanted[partition])]
            for record in _newest(reader, begin, end, size)
        ]
    if not found:
        raise SampleUnusable.no_records(source=f"topic {topic}")
    return found


def of_source(spec: Pipeline, settings: Settings, most: int) -> list[Sampled]:
    """The newest that runs have noted, of a source that is no topic of Kafka. Raises what it does,
    and SampleUnusable.
    """
    source = source_of(spec, settings)
    state = source.state()
    first = state.latest.back(most).maximum(state.earliest)
    if not (found := [*source.sampled(first.parts(state.latest))]):
        raise SampleUnusable.no_records(source=spec.inputs.told(settings.kafka))
    return found


def shares(there: Mapping[int, int], most: int) -> dict[int, int]:
    """Of each partition how many are read: equally many, but what one has not, others give. One of
    each at least.

    >>> shares({0: 5000, 1: 100, 2: 4000}, 3000)
    {1: 100, 2: 1450, 0: 1450}
    """
    found, left = dict[int, int](), most
    for partition, count in sorted(there.items(), key=lambda each: each[1]):
        found[partition] = min(count, max(1, left // (len(there) - len(found))))
        left -= found[partition]
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
    first = (found[0].value or b"").lstrip()
    for begins, (what, tool) in WHOLE.items():
        if first.startswith(begins):
            command = f"{tool} {quote(str(path))}"
            raise SampleUnusable.no_lines(path=path, what=what, command=command)
    return found


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


def write(path: Path, sample: Sequence[Sampled]) -> None:
    """A line for each record."""
    with path.open("w", encoding="utf-8") as file:
        for each in sample:
            headers = [[name, _coded(content)] for name, content in each.headers]
            line = [*each[:3], _coded(each.key), _coded(each.value), headers]
            file.write(json.dumps(line) + "\n")


def read(path: Path) -> Iterator[Sampled]:
    """In their order."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            partition, offset, timestamp, key, value, headers = json.loads(line)
            named = [(name, _bytes(content)) for name, content in headers]
            yield Sampled(partition, offset, timestamp, _bytes(key), _bytes(value), named)


def _coded(content: bytes | None) -> str | None:
    return None if content is None else b64encode(content).decode()


def _bytes(coded: str | None) -> bytes | None:
    return None if coded is None else b64decode(coded)


By = Literal["gzip", "zstd"]
_BEGINS: Final[tuple[tuple[By, bytes], ...]] = (
    ("gzip", b"\x1f\x8b\x08"),
    ("zstd", b"\x28\xb5\x2f\xfd"),
)
"""RFC 1952 with its one method; RFC 8878."""
MOST: Final[int] = Compressed.model_fields["at_most"].default
"""Bytes of a value: a drafted spec says nothing of them."""


def compressed_by(sample: Sequence[Sampled]) -> By | None:
    """What most values begin with."""
    valued = [each.value for each in sample if each.value]
    return next(
        (
            by
            for by, begins in _BEGINS
            if sum(value.startswith(begins) for value in valued) * 2 > len(valued)
        ),
        None,
    )


def inflated(sample: Sequence[Sampled], by: By) -> list[Sampled]:
    """What cannot be inflated stays as it is."""
    return [each._replace(value=_inflated(each.value, by)) for each in sample]


def _inflated(value: bytes | None, by: By) -> bytes | None:
    try:
        return {"gzip": gunzip, "zstd": unzstd}[by](value, MOST) if value else value
    except Wrong:
        return value
