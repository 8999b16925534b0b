"""Options of Spark's Kafka reader that a spec may set, each with the reason; others are refused, with the reason or the home.

Names are letter for letter Spark's (KafkaSourceProvider, spark-sql-kafka-0-10) and, after `kafka.`, Java's (ConsumerConfig).
"""

from __future__ import annotations

import difflib
from typing import Annotated

from pydantic import AfterValidator

from spark_jobs.contract.model import refuse

ALLOWED = {
    "minPartitions": "a topic of few, large partitions is read by more tasks than it has partitions",
    "fetchOffset.numRetries": "a busy broker is asked for offsets more often; 3",
    "fetchOffset.retryIntervalMs": "milliseconds between two of these questions; 1000",
    "kafkaConsumer.pollTimeoutMs": "milliseconds that a task waits for records before it fails; 120000",
    "kafka.max.poll.records": "records a poll; 5000 here, fewer where records are large and memory is small",
    "kafka.fetch.max.wait.ms": "milliseconds that a broker waits for fetch.min.bytes; 10 here",
    "kafka.fetch.min.bytes": "fewer, larger answers over a slow network; 1",
    "kafka.fetch.max.bytes": "bytes of one answer; 52428800",
    "kafka.max.partition.fetch.bytes": "bytes of one partition in an answer; 1048576",
    "kafka.receive.buffer.bytes": "bytes of the socket's buffer, for far brokers; 65536",
    "kafka.request.timeout.ms": "milliseconds until a broker's answer is given up; 30000",
    "kafka.default.api.timeout.ms": "milliseconds until a question with its retries is given up; 60000",
    "kafka.connections.max.idle.ms": "milliseconds, below what a firewall between gives a silent connection; 540000",
    "kafka.metadata.max.age.ms": "milliseconds until brokers that moved are looked for; 300000",
}
"""Each is a whole number greater than 0 that fits the 32 bits which Spark and Java have for it. After the semicolon stands the
default."""
LARGEST = 2**31 - 1

_OFFSETS = "a run begins where its checkpoint ends: sluice rewind and sluice reset move that"
_TOPIC = "the topic is the spec's: topic"
_ALL = "a run takes all that there is, by Trigger.AvailableNow, which takes no notice of it"
_OWNED = "Sluice's account depends on it"
REFUSED = {
    **dict.fromkeys(("subscribe", "subscribePattern", "assign"), _TOPIC),
    **dict.fromkeys(("startingOffsets", "endingOffsets", "startingTimestamp", "endingTimestamp", "startingOffsetsByTimestamp",
                     "endingOffsetsByTimestamp", "startingOffsetsByTimestampStrategy"), _OFFSETS),
    **dict.fromkeys(("minOffsetsPerTrigger", "maxTriggerDelay"), _ALL),
    "maxOffsetsPerTrigger": "it has a field of its own: max_offsets_per_batch",
    "maxRecordsPerPartition": "the number of tasks would follow the load: minPartitions says it",
    "failOnDataLoss": "it has a field of its own: on_lost_records",
    "includeHeaders": "no step reads them",
    "groupIdPrefix": "no consumer group is used, and no right on one needed",
    "kafka.group.id": "queries of one group would take each other's partitions away",
    "kafka.isolation.level": _OWNED, "kafka.auto.offset.reset": _OFFSETS, "kafka.enable.auto.commit": _OFFSETS,
    "kafka.key.deserializer": _OWNED, "kafka.value.deserializer": _OWNED, "kafka.interceptor.classes": _OWNED,
    "kafka.bootstrap.servers": "brokers are the installation's: SLUICE_KAFKA",
}
"""Known, and not taken."""
_DECLARED = ("kafka.security.", "kafka.sasl.", "kafka.ssl.", "kafka.client.")


def _options(given: dict[str, str]) -> dict[str, str]:
    for name, value in given.items():
        if name in REFUSED:
            refuse("reader_options", {name: value}, REFUSED[name], "Leave it out")
        if name.startswith(_DECLARED):
            refuse("reader_options", [name], "who asks is the installation's, and a secret does not belong into a spec",
                   "Put it into the Kafka declaration: SLUICE_KAFKA_CONFIG, or Airflow's connection sluice_kafka")
        if name not in ALLOWED:
            close = difflib.get_close_matches(name, ALLOWED, n=1)
            refuse("reader_options", [name], "it is none that is passed on to Spark's Kafka reader",
                   f"Did you mean {close[0]}" if close else f"Use one of {', '.join(ALLOWED)}")
        if not (value.isascii() and value.isdigit() and len(value) <= len(str(LARGEST)) and 0 < int(value) <= LARGEST):
            refuse("reader_options", {name: value}, f"it is not a whole number greater than 0 and at most {LARGEST}",
                   f"It means: {ALLOWED[name]}")
    return given


ReaderOptions = Annotated[dict[str, str], AfterValidator(_options)]


def tasks(options: dict[str, str], partitions: int) -> int:
    """How many tasks read so many partitions; about, as Spark rounds."""
    return max(partitions, int(options.get("minPartitions", 0)))
