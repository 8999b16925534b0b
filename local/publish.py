"""Sends a delivery to Kafka with a real producer and writes down, in the ledger, where the broker
put each record.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from zlib import crc32

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from local import ledger
from local.broker import create_topic
from local.deliveries import Delivered

FLUSH_SECONDS = 60.0
Confirmed = Callable[[KafkaError | None, Message], None]


class PublishError(Exception):
    """The broker did not take the delivery; the message says why and what to do."""


Client = tuple[tuple[str, str], ...]
"""librdkafka's properties by name: who asks, and how.

Hashable, so that one producer serves all deliveries.
"""


def publish(
    bootstrap: str,
    topic: str,
    records: Sequence[Delivered],
    delivery: int,
    ledger_folder: Path,
    partitions: int,
    client: Client = (),
) -> dict[str, int]:
    """Send `records` in their order, making the topic if need be, and return how many there were of
    each kind.

    As `client` says, where it says anything: the topic must then be there, since making one is
    another right than writing.

    Records of one key go to one partition, and the record's own timestamp is sent as Kafka's
    CreateTime. The ledger's file is written last, so a delivery without one may be in the topic in
    part.

    Raises LedgerError when the delivery was already sent, PublishError when the broker does not
    confirm it.
    """
    if ledger.delivery_file(ledger_folder, delivery).exists():
        message = f"delivery {delivery} of {topic} was already sent; publish another one"
        raise ledger.LedgerError(message)
    if not client:
        create_topic(bootstrap, topic, partitions)
    places = _send(bootstrap, topic, records, partitions, client)
    ledger.write(ledger_folder, delivery, topic, records, places)
    return dict.fromkeys(ledger.KINDS, 0) | Counter(record.kind for record in records)


def _send(
    bootstrap: str, topic: str, records: Sequence[Delivered], partitions: int, client: Client
) -> list[tuple[int, int]]:
    """Send, and wait for the broker to confirm: the (partition, offset) of each record, in their
    order.
    """
    producer = _producer(bootstrap, client)
    places: list[tuple[int, int]] = [(-1, -1)] * len(records)
    refusals: Counter[str] = Counter()

    def confirmed(index: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            refusals[error.str()] += 1
            return
        partition, offset = message.partition(), message.offset()
        if partition is not None and offset is not None:
            places[index] = (partition, offset)

    for index, record in enumerate(records):
        try:
            _produce(producer, topic, record, partitions, partial(confirmed, index))
        except KafkaException as refused:
            if index or refused.args[0].name() != "_UNKNOWN_TOPIC":
                raise
            # The topic was deleted and made anew: this producer has learnt that it is not there.
            _producer.cache_clear()
            producer = _producer(bootstrap, client)
            _produce(producer, topic, record, partitions, partial(confirmed, index))
    left = producer.flush(FLUSH_SECONDS)
    if left or refusals:
        why = refusals.most_common(1)[0][0] if refusals else f"no answer in {FLUSH_SECONDS:.0f} s"
        missing = left + refusals.total()
        message = (
            f"{missing} of {len(records)} records were not taken by {bootstrap} ({why}); "
            "see its log"
        )
        raise PublishError(message)
    return places


@cache
def _producer(bootstrap: str, client: Client) -> Producer:
    """One for all deliveries: an idempotent producer waits half a second for its id before it sends
    its first record.
    """
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": "lz4",
            "linger.ms": 20,
            # What is not taken is told by PublishError; a broker that starts, or has been stopped,
            # is no news.
            "log_level": 0,
            **dict(client),
        }
    )


def _produce(
    producer: Producer, topic: str, record: Delivered, partitions: int, confirmed: Confirmed
) -> None:
    while True:
        try:
            producer.produce(
                topic,
                key=record.key,
                value=record.value,
                partition=crc32(record.key or b"") % partitions,
                # Rounded: a float of seconds does not hold every millisecond exactly.
                timestamp=round(record.kafka_timestamp.timestamp() * 1000),
                on_delivery=confirmed,
            )
        except BufferError:
            # The producer's queue is full: take confirmations, which make room in it.
            producer.poll(0.1)
        else:
            producer.poll(0)
            return
