"""Consumer: reads records at offsets that it is given. Nothing is committed to a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import Consumer

from spark_jobs.source import token_endpoint

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings


def consumer(settings: Settings) -> Consumer:
    """One of the declared brokers; whoever asks for it closes it. Raises KafkaConfigInvalid."""
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
        }
    )
