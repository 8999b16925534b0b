"""The options of Spark's Kafka reader that a spec may set, with their meaning; and those that
Sluice refuses, with the reason.

Names are exactly Spark's (KafkaSourceProvider, spark-sql-kafka-0-10) and, after `kafka.`, Java's
(ConsumerConfig).
"""

from __future__ import annotations

import difflib
from typing import Annotated

from pydantic import AfterValidator

from spark_jobs.spec.model import refuse

ALLOWED = {
    "minPartitions": "lowest number of tasks that read; more than the partitions splits large ones",
    "fetchOffset.numRetries": "how often a request for offsets is sent again when it fails; 3",
    "fetchOffset.retryIntervalMs": "milliseconds between two such requests; 1000",
    "kafkaConsumer.pollTimeoutMs": "milliseconds that a task waits for records before it fails; "
    "120000",
    "kafka.max.poll.records": "most records in one poll: fewer for large records or little "
    "memory; Sluice sets 5000",
    "kafka.fetch.max.wait.ms": "milliseconds that a broker waits for fetch.min.bytes; Sluice sets "
    "10",
    "kafka.fetch.min.bytes": "least bytes in an answer: more gives fewer, larger answers over a "
    "slow network; 1",
    "kafka.fetch.max.bytes": "most bytes in one answer; 52428800",
    "kafka.max.partition.fetch.bytes": "most bytes of one partition in an answer; 1048576",
    "kafka.receive.buffer.bytes": "bytes of the socket's receive buffer: more for distant "
    "brokers; 65536",
    "kafka.request.timeout.ms": "milliseconds that the client waits for a broker's answer; 30000",
    "kafka.default.api.timeout.ms": "milliseconds that the client waits for one request with its "
    "retries; 60000",
    "kafka.connections.max.idle.ms": "milliseconds until an idle connection closes: less than a "
    "firewall's limit; 540000",
    "kafka.metadata.max.age.ms": "milliseconds until the client reads the list of brokers again; "
    "300000",
}
"""Name -> meaning; default.

Each value is a whole number greater than 0 that fits the 32 bits that Spark and Java use.
"""
LARGEST = 2**31 - 1

_OFFSETS = (
    "a run starts at the offsets in its checkpoint: sluice rewind and sluice reset change them"
)
_TOPIC = "the spec has a field for it: topic"
_ALL = "a run uses Trigger.AvailableNow, which ignores it and reads all available records"
_OWNED = "Sluice's account depends on it"
REFUSED = {
    **dict.fromkeys(("subscribe", "subscribePattern", "assign"), _TOPIC),
    **dict.fromkeys(
        (
            "startingOffsets",
            "endingOffsets",
            "startingTimestamp",
            "endingTimestamp",
            "startingOffsetsByTimestamp",
            "endingOffsetsByTimestamp",
            "startingOffsetsByTimestampStrategy",
        ),
        _OFFSETS,
    ),
    **dict.fromkeys(("minOffsetsPerTrigger", "maxTriggerDelay"), _ALL),
    "maxOffsetsPerTrigger": "the spec has a field for it: max_offsets_per_batch",
    "maxRecordsPerPartition": "the number of tasks would depend on the load: use minPartitions",
    "failOnDataLoss": "the spec has a field for it: on_lost_records",
    "includeHeaders": "the fields say it: headers are read where one has part='header'",
    "groupIdPrefix": "Sluice uses no consumer group and needs no right on one",
    "kafka.group.id": "queries in the same group would take partitions from each other",
    "kafka.isolation.level": _OWNED,
    "kafka.auto.offset.reset": _OFFSETS,
    "kafka.enable.auto.commit": _OFFSETS,
    "kafka.key.deserializer": _OWNED,
    "kafka.value.deserializer": _OWNED,
    "kafka.interceptor.classes": _OWNED,
    "kafka.bootstrap.servers": "the installation sets the brokers: SLUICE_KAFKA",
}
"""Options that Spark or Kafka knows and Sluice refuses, with the reason."""
DECLARED = ("kafka.security.", "kafka.sasl.", "kafka.ssl.", "kafka.client.")


def _options(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if name in REFUSED:
            refuse("reader_options", {name: value}, REFUSED[name], "Leave it out")
        if name.startswith(DECLARED):
            refuse(
                "reader_options",
                [name],
                "the installation sets Kafka's security, and a spec must hold no secret",
                "Put it into the Kafka declaration: SLUICE_KAFKA_CONFIG, or Airflow's connection "
                "sluice_kafka",
            )
        if name not in ALLOWED:
            close = difflib.get_close_matches(name, ALLOWED, n=1)
            refuse(
                "reader_options",
                [name],
                "Sluice does not pass this option to Spark's Kafka reader",
                f"Did you mean {close[0]}" if close else f"Use one of {', '.join(ALLOWED)}",
            )
        if not (
            value.isascii()
            and value.isdigit()
            and len(value) <= len(str(LARGEST))
            and 0 < int(value) <= LARGEST
        ):
            refuse(
                "reader_options",
                {name: value},
                f"it is not a whole number greater than 0 and at most {LARGEST}",
                f"It means: {ALLOWED[name]}",
            )
    return given


ReaderOptions = Annotated[dict[str, str], AfterValidator(_options)]


def tasks(options: dict[str, str], partitions: int, topics: int = 1) -> int:
    """About how many tasks read this number of partitions; Spark rounds."""
    return max(partitions, topics * int(options.get("minPartitions", 0)))
