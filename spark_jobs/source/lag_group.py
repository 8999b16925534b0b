"""Lag group: the offsets up to which a pipeline's rows are published, as those of a consumer group,
for the tools that show the lag of groups. Sluice never reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

from spark_jobs.source.topic_state import TIMEOUT_SECONDS, admin_client
from spark_jobs.source.union import by_topic

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.spec import Pipeline


def commit(settings: Settings, spec: Pipeline, ends: Offsets, group: str) -> None:
    """Commit the offsets, also lower ones than before.

    Raises KafkaUnreachable, KafkaRefused, KafkaConfigInvalid or TopicMissing.
    """
    topics = spec.topic.each
    places = [
        TopicPartition(topics[number].name, partition, end)
        for number, own in by_topic(ends).items()
        for partition, end in own.items()
    ]
    asked = ConsumerGroupTopicPartitions(group, places)
    with admin_client(settings, spec.topic.name) as client:
        futures = client.alter_consumer_group_offsets([asked], request_timeout=TIMEOUT_SECONDS)
        for answered in futures.values():
            for place in answered.result().topic_partitions:
                if place.error:
                    raise KafkaException(place.error)
