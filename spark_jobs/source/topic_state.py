"""What the broker holds, asked without Spark: the topic's identity, and its first and next offsets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, NamedTuple

from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, ListOffsetsResultInfo, OffsetSpec

from spark_jobs.contract.errors import KafkaRefused, KafkaUnreachable, TopicMissing
from spark_jobs.contract.micro_batch import Offsets
from spark_jobs.contract.settings import Settings
from spark_jobs.source import token_endpoint
from spark_jobs.source.refusal import is_refusal, may_not, refusal, told

TIMEOUT_SECONDS = 7.0
"""For each of four questions, so that the last one, too, is given up within 30 seconds."""
TRIES = (0.07, 0.13, 0.8)
"""Shares of the first question's time. After each it is looked whether a broker refused: the client would go on trying. The
last is long, for a broker that takes seconds to answer."""


class TopicState(NamedTuple):
    """A topic as the broker has it."""

    id: str
    """The broker's own id of the topic: a topic made anew under the same name has another."""
    earliest: Offsets
    """The first offset that retention has left."""
    latest: Offsets
    """The next offset that a read_committed consumer will not see yet."""


def topic_state(settings: Settings, topic: str) -> TopicState:
    """Raises KafkaUnreachable, KafkaRefused or TopicMissing, within TIMEOUT_SECONDS for each question."""
    with _asking(settings, topic) as client:
        described = client.describe_topics(
            TopicCollection([topic]), include_authorized_operations=True, request_timeout=TIMEOUT_SECONDS)[topic].result()
        # A broker that does not tell gives none. To describe it is enough for the questions here, and not for Spark.
        allowed = described.authorized_operations or []
        if allowed and AclOperation.READ not in allowed:
            raise KafkaRefused(*may_not("READ", topic, settings))
        partitions = [partition.id for partition in described.partitions]
        first, following = OffsetSpec.earliest(), OffsetSpec.latest()  # type: ignore[no-untyped-call]
        earliest, latest = (_offsets(client, topic, partitions, spec) for spec in (first, following))
        return TopicState(
            str(described.topic_id), *({p: answer.offset for p, answer in found.items()} for found in (earliest, latest))
        )


def newest_record(settings: Settings, topic: str, partitions: Iterable[int]) -> datetime | None:
    """The largest Kafka timestamp of the topic's records; None where it has none. Raises as topic_state does."""
    with _asking(settings, topic) as client:
        found = _offsets(client, topic, partitions, OffsetSpec.max_timestamp())  # type: ignore[no-untyped-call]
        newest = max(answer.timestamp for answer in found.values())
        return datetime.fromtimestamp(newest / 1000, UTC) if newest > 0 else None


@contextmanager
def _asking(settings: Settings, topic: str) -> Iterator[AdminClient]:
    """A client whose failures are Sluice's errors."""
    said: list[KafkaError] = []
    config = settings.kafka_config
    try:
        own: dict[str, Any] = {
            "bootstrap.servers": settings.kafka, "log_level": 0, "socket.timeout.ms": 5000, "error_cb": said.append}
        client = AdminClient(config.librdkafka() | token_endpoint.authorities(config) | own, logger=None)
        _connect(client, said)
        yield client
    except KafkaException as error:
        raised: KafkaError = error.args[0]
        if raised.name() == "UNKNOWN_TOPIC_OR_PART":
            raise TopicMissing(f"the brokers at {settings.kafka} have no topic {topic!r}.",
                               "Create it, or correct the topic's name in the spec.") from None
        if refused := refusal([raised, *said], topic, settings):
            raise refused from None
        last = next((one for one in reversed(said) if one.name() != "_ALL_BROKERS_DOWN"), None)
        raise KafkaUnreachable(
            f"no broker answered at {settings.kafka} within {TIMEOUT_SECONDS:.0f} s ({told(last or raised)}).",
            token_endpoint.what_may_be_down(last, config)) from None


def _connect(client: AdminClient, said: list[KafkaError]) -> None:
    """Until a broker has answered, or the time is over, or one has refused. Raises KafkaException."""
    for share in TRIES:
        try:
            client.list_topics(timeout=share * TIMEOUT_SECONDS)
        except KafkaException:
            client.poll(0)
            if share == TRIES[-1] or any(map(is_refusal, said)):
                raise
        else:
            return


def _offsets(client: AdminClient, topic: str, partitions: Iterable[int], spec: OffsetSpec) -> dict[int, ListOffsetsResultInfo]:
    asked = client.list_offsets(
        {TopicPartition(topic, partition): spec for partition in partitions},
        isolation_level=IsolationLevel.READ_COMMITTED,
        request_timeout=TIMEOUT_SECONDS,
    )
    found = {partition.partition: answer.result() for partition, answer in asked.items()}
    if any(answer.offset == OFFSET_INVALID for answer in found.values()):
        # The client raises nothing where a leader has not answered in time, and such an offset would read as an empty topic.
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - it has no public name
    return found
