"""What the broker holds, asked without Spark: the topic's identity, and its first and next offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import NamedTuple

from confluent_kafka import IsolationLevel, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec

from spark_jobs.checkpoint import Offsets
from spark_jobs.contract.errors import KafkaUnreachable, TopicMissing

TIMEOUT_SECONDS = 7.0
"""For each of four questions, so that the last one, too, is given up within 30 seconds."""


class TopicState(NamedTuple):
    """A topic as the broker has it."""

    id: str
    """The broker's own id of the topic: a topic made anew under the same name has another."""
    earliest: Offsets
    """The first offset that retention has left."""
    latest: Offsets
    """The next offset that a read_committed consumer will not see yet."""


def topic_state(brokers: str, topic: str) -> TopicState:
    """Raises KafkaUnreachable or TopicMissing, within TIMEOUT_SECONDS for each question."""
    with _asking(brokers, topic) as client:
        described = client.describe_topics(TopicCollection([topic]), request_timeout=TIMEOUT_SECONDS)[topic].result()
        partitions = [partition.id for partition in described.partitions]
        first, following = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]
        earliest, latest = (_offsets(client, topic, partitions, spec) for spec in (first, following))
        return TopicState(
            str(described.topic_id), *({p: answer.offset for p, answer in found.items()} for found in (earliest, latest))
        )


def newest_record(brokers: str, topic: str, partitions: Iterable[int]) -> datetime | None:
    """The largest Kafka timestamp of the topic's records; None where it has none. Raises as topic_state does."""
    with _asking(brokers, topic) as client:
        found = _offsets(client, topic, partitions, OffsetSpec.max_timestamp())  # type: ignore[no-untyped-call]
        newest = max(answer.timestamp for answer in found.values())
        return datetime.fromtimestamp(newest / 1000, UTC) if newest > 0 else None


@contextmanager
def _asking(brokers: str, topic: str) -> Iterator[AdminClient]:
    """A client whose failures are Sluice's errors."""
    client = AdminClient({"bootstrap.servers": brokers, "log_level": 0, "socket.timeout.ms": 5000}, logger=None)
    try:
        client.list_topics(timeout=TIMEOUT_SECONDS)
        yield client
    except KafkaException as error:
        if error.args[0].name() == "UNKNOWN_TOPIC_OR_PART":
            raise TopicMissing(f"the brokers at {brokers} have no topic {topic!r}.",
                               "Create it, or correct the topic's name in the spec.") from None
        raise KafkaUnreachable(f"no broker answered at {brokers} within {TIMEOUT_SECONDS:.0f} s ({error.args[0].str()}).",
                               "Check that Kafka runs and that SLUICE_KAFKA is right.") from None


def _offsets(client: AdminClient, topic: str, partitions: Iterable[int], spec: OffsetSpec) -> dict[int, ListOffsetsResultInfo]:
    asked = client.list_offsets(
        {TopicPartition(topic, partition): spec for partition in partitions},
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=TIMEOUT_SECONDS,
    )
    return {partition.partition: answer.result() for partition, answer in asked.items()}
