"""Asks the brokers for a topic's id and offsets, without Spark."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pkgutil import resolve_name

from confluent_kafka import (
    OFFSET_INVALID,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AclOperation,
    AdminClient,
    ConfigEntry,
    ConfigResource,
    ListOffsetsResultInfo,
    OffsetSpec,
    ResourceType,
)

from spark_jobs.settings.installation import Settings
from spark_jobs.source import kafka_time
from spark_jobs.source.client_options import client_options
from spark_jobs.source.open_transaction import held_back
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.values.spans import EPOCH

REFUSAL = "spark_jobs.source.refusal"
"""What says why brokers or TLS turn a client away, or that no broker answers."""
TIMEOUT_SECONDS = 5.5
"""The time limit of each request. A run sends five in turn: it gives up within half a minute."""
LOG_APPEND_TIME = "LogAppendTime"
TRIES = (0.07, 0.13, 0.8)
"""Shares of the first request's time limit, one for each try.

After a failed try the errors are checked: if a broker rejected the client, there is no further try
(librdkafka would continue). The last share is long: a broker may need seconds to answer.
"""


def topic_state(settings: Settings, topic: str, starting: datetime | None = None) -> SourceState:
    """The topic's id and offsets; where it begins, if that is at this Kafka timestamp. Each request
    takes at most TIMEOUT_SECONDS.

    Raises KafkaUnreachable, KafkaRefused, KafkaConfigInvalid or TopicMissing.
    """
    with admin_client(settings, topic) as client:
        configured = configuration(client, topic)  # its answer comes beside those of the others
        described = client.describe_topics(
            TopicCollection([topic]),
            include_authorized_operations=True,
            request_timeout=TIMEOUT_SECONDS,
        )[topic].result()
        # Some brokers do not report the allowed operations. DESCRIBE is enough for the requests
        # here; Spark also needs READ.
        allowed = described.authorized_operations or []
        if allowed and AclOperation.READ not in allowed:
            raise resolve_name(REFUSAL).missing_right("READ", topic, settings)
        partitions = [partition.id for partition in described.partitions]
        earliest = _list_offsets(client, topic, partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        # The ends first: what comes in between is not held back.
        ends = _list_offsets(
            client,
            topic,
            partitions,
            OffsetSpec.latest(),  # type: ignore[no-untyped-call]
            IsolationLevel.READ_UNCOMMITTED,
        )
        latest = _list_offsets(client, topic, partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        waits = {
            partition: ends[partition].offset - stable.offset
            for partition, stable in latest.items()
            if ends[partition].offset > stable.offset
        }
        timestamps, appended, compacted = "", None, False
        with suppress(KafkaException, KeyError):  # they are only told, and not every server answers
            compacted = "compact" in setting(configured, "cleanup.policy")
            timestamps = setting(configured, "message.timestamp.type")
            appended = _newest(client, topic, partitions) if timestamps == LOG_APPEND_TIME else None
        return SourceState(
            id=str(described.topic_id),
            earliest=_positions(earliest),
            latest=_positions(latest),
            timestamps=timestamps,
            appended=appended,
            compacted=compacted,
            starting=_starting(client, topic, latest, starting) if starting else Positions(),
            held=held_back(settings, topic, _positions({p: latest[p] for p in waits}), waits),
        )


def _starting(
    client: AdminClient, topic: str, latest: Mapping[int, ListOffsetsResultInfo], at: datetime
) -> Positions:
    """Behind the last record where none is of that time or later."""
    since = OffsetSpec.for_timestamp((at - EPOCH) // timedelta(milliseconds=1))
    found = _list_offsets(client, topic, latest, since)
    ends = {partition: result.offset for partition, result in latest.items()}
    return Positions(
        {p: end if found[p].offset < 0 else found[p].offset for p, end in ends.items()}
    )


def _positions(found: Mapping[int, ListOffsetsResultInfo]) -> Positions:
    return Positions({partition: result.offset for partition, result in found.items()})


def topic_names(settings: Settings, topic: str) -> list[str]:
    """Of all topics that this user may see. `topic` is named if it may see none.

    Raises KafkaUnreachable, KafkaRefused, KafkaConfigInvalid.
    """
    with admin_client(settings, topic) as client:
        return [*client.list_topics(timeout=TIMEOUT_SECONDS).topics]


def first_offsets(settings: Settings, topic: str, partitions: Iterable[int]) -> Positions:
    """At the first records of these partitions that retention has left now.

    Raises the same errors as topic_state.
    """
    with admin_client(settings, topic) as client:
        return _positions(_list_offsets(client, topic, partitions, OffsetSpec.earliest()))  # type: ignore[no-untyped-call]


def is_compacted(settings: Settings, topic: str) -> bool:
    """Whether Kafka compacts the topic; False if this user may not read its configuration.

    Raises the same errors as topic_state.
    """
    with admin_client(settings, topic) as client:
        return "compact" in setting(configuration(client, topic), "cleanup.policy")


def newest_record(settings: Settings, topic: str, partitions: Iterable[int]) -> datetime | None:
    """The largest Kafka timestamp of the topic's records; None if it has no records. One that is no
    time (source/kafka_time.py) counts as the last one that there is: still to come.

    Raises the same errors as topic_state.
    """
    with admin_client(settings, topic) as client:
        return _newest(client, topic, partitions)


def _newest(client: AdminClient, topic: str, partitions: Iterable[int]) -> datetime | None:
    results = _list_offsets(client, topic, partitions, OffsetSpec.max_timestamp())  # type: ignore[no-untyped-call]
    newest_ms = max(result.timestamp for result in results.values())
    return kafka_time.clamped(newest_ms) if newest_ms > 0 else None


def configuration(client: AdminClient, topic: str) -> Future[dict[str, ConfigEntry]]:
    """A question for the topic's configuration, without waiting for the answer."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    asked: dict[ConfigResource, Future[dict[str, ConfigEntry]]] = client.describe_configs(
        [resource], request_timeout=TIMEOUT_SECONDS
    )
    return asked[resource]


def setting(configured: Future[dict[str, ConfigEntry]], name: str) -> str:
    """Empty if this user may not read the topic's configuration."""
    try:
        return str(configured.result()[name].value)
    except KafkaException as error:
        if error.args[0].name() == "TOPIC_AUTHORIZATION_FAILED":
            return ""
        raise


@contextmanager
def admin_client(settings: Settings, topic: str) -> Iterator[AdminClient]:
    """A connected client, which ends with the block. Translates its failures into Sluice's errors.

    The traceback of an error keeps the variables of its functions, until a garbage collection in
    whichever thread. librdkafka aborts the process if that is a thread of its own. So what the
    block has is a weak reference, and the traceback of the client's error goes.
    """
    errors: list[KafkaError] = []
    client: AdminClient | None = None
    try:
        options = {"socket.timeout.ms": 5000, "error_cb": errors.append}
        # By librdkafka's default the first answer takes 0.06 s, with this 0.02. While somebody
        # waits for an answer the wait does not double: where nothing listens there are some 80
        # tries a second, and not 20. Kafka itself refuses a login after 0.1 s.
        soon = {"reconnect.backoff.ms": 20}
        client = AdminClient(soon | client_options(settings) | options, logger=None)
        _connect(weakref.proxy(client), errors)
        yield weakref.proxy(client)
    except KafkaException as error:
        error.__traceback__ = None
        raised: KafkaError = error.args[0]
        why = resolve_name(REFUSAL).translated(client, [raised, *errors], topic, settings)
        raise why from None
    finally:
        client = None


def _connect(client: AdminClient, errors: list[KafkaError]) -> None:
    """Returns when a broker has answered.

    Raises KafkaException when the time is over, or when a broker rejects the client.
    """
    for share in TRIES:
        try:
            client.list_topics(timeout=share * TIMEOUT_SECONDS)
        except KafkaException:
            client.poll(0)
            if share == TRIES[-1] or any(map(resolve_name(REFUSAL).is_refusal, errors)):
                raise
        else:
            return


def _list_offsets(
    client: AdminClient,
    topic: str,
    partitions: Iterable[int],
    spec: OffsetSpec,
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
) -> dict[int, ListOffsetsResultInfo]:
    return answered(asked(client, topic, partitions, spec, isolation))


Asked = dict[TopicPartition, Future[ListOffsetsResultInfo]]


def asked(
    client: AdminClient,
    topic: str,
    partitions: Iterable[int],
    spec: OffsetSpec,
    isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
) -> Asked:
    """A question for offsets, without waiting for the answer."""
    found: Asked = client.list_offsets(
        {TopicPartition(topic, partition): spec for partition in partitions},
        isolation_level=isolation,
        request_timeout=TIMEOUT_SECONDS,
    )
    return found


def answered(futures: Asked) -> dict[int, ListOffsetsResultInfo]:
    """Partition -> the answer. Raises KafkaException."""
    results = {partition.partition: future.result() for partition, future in futures.items()}
    if any(result.offset == OFFSET_INVALID for result in results.values()):
        # The client raises nothing if a leader did not answer in time. Without this check the topic
        # would look empty.
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001 - it has no public name
    return results
