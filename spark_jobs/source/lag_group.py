"""Lag group: the offsets up to which a pipeline's rows are published, as a consumer group's, for
the tools that show the lag of groups. Sluice never reads them.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from confluent_kafka import (
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from spark_jobs.source.topic_state import TIMEOUT_SECONDS, admin_client

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Positions
    from spark_jobs.spec import Pipeline

NOT_YET: Final = {
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
}
"""What a broker answers while it looks for the group's coordinator, as at a first group."""
PAUSE_SECONDS: Final = 0.2


def commit(settings: Settings, spec: Pipeline, ends: Positions, group: str) -> None:
    """Commit the offsets, also lower ones than before.

    Raises KafkaUnreachable, KafkaRefused, KafkaConfigInvalid or TopicMissing.
    """
    topics = spec.inputs
    places = [
        TopicPartition(topics[number].name, partition, end)
        for number, own in ends.of_inputs().items()
        for partition, end in own.by_partition.items()
    ]
    asked = ConsumerGroupTopicPartitions(group, places)
    until = time.monotonic() + TIMEOUT_SECONDS
    with admin_client(settings, spec.inputs.name) as client:
        while error := _refusal(client, asked):
            if error.code() not in NOT_YET or time.monotonic() > until:
                raise KafkaException(error)
            time.sleep(PAUSE_SECONDS)


def _refusal(client: AdminClient, asked: ConsumerGroupTopicPartitions) -> KafkaError | None:
    futures = client.alter_consumer_group_offsets([asked], request_timeout=TIMEOUT_SECONDS)
    try:
        places = [each for answer in futures.values() for each in answer.result().topic_partitions]
    except KafkaException as refused:
        found: KafkaError = refused.args[0]
        return found
    return next((each.error for each in places if each.error), None)
