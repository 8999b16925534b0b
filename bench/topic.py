"""The topic that both arms read: deliveries made beforehand, published one at a time to a broker of
the benchmark's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from bench.arms import TOPIC
from local import broker
from local.deliveries import Delivered
from local.publish import publish
from spark_jobs.settings.installation import REPO

PARTITIONS = 4


class Topic:
    """A broker that runs, and the deliveries that it is still to get."""

    def __init__(
        self, brokers: str, ledger: Path, waiting: list[Sequence[Delivered]], name: str = TOPIC
    ) -> None:
        self.brokers = brokers
        self.ledger = ledger
        self._name = name
        self.waiting = waiting
        self._sent = 0
        self.sent = 0
        """Records, in all deliveries so far."""

    def number_from(self, delivery: int) -> None:
        """Where it shares its ledger with another topic, which has the numbers before."""
        self._sent = delivery

    def publish_next(self) -> int:
        """Publish the next delivery and return how many records it has."""
        return self.publish(self.waiting.pop(0))

    def publish(self, records: Sequence[Delivered]) -> int:
        """Publish these as a delivery, and return how many they are."""
        self._sent += 1
        self.sent += len(records)
        publish(self.brokers, self._name, records, self._sent, self.ledger, PARTITIONS)
        return len(records)

    def empty(self) -> None:
        """What retention does in the end: Kafka has no record any more."""
        client = AdminClient({"bootstrap.servers": self.brokers})
        ends = {
            TopicPartition(self._name, partition): OffsetSpec.latest()  # type: ignore[no-untyped-call]
            for partition in range(PARTITIONS)
        }
        places = [
            TopicPartition(place.topic, place.partition, found.result().offset)
            for place, found in client.list_offsets(ends).items()
        ]
        for place, done in client.delete_records(places).items():
            assert done.result().low_watermark == place.offset


@contextmanager
def running(home: Path, waiting: list[Sequence[Delivered]]) -> Iterator[Topic]:
    """The topic within the block; its broker is stopped after it, whatever happens."""
    try:
        yield Topic(broker.start(home / "kafka", REPO / "jars" / "kafka"), home / "ledger", waiting)
    finally:
        broker.stop(home / "kafka")
