"""Rejected records: the malformed, premature and late ones, as captured and as stored in
ops.quarantine and ops.late.

What else is to be kept of them is captured in steps/capture.py, read in
rejected/rejected_store.py for a batch that is read again, and declared in ops/schema.py.
"""

from __future__ import annotations

from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from spark_jobs.decode.jvm import PENDING, Refused, reasons
from spark_jobs.source.micro_batch import Batch
from spark_jobs.spec import Topic
from spark_jobs.spec.inputs import Topics
from spark_jobs.steps.classify import Outcome
from spark_jobs.values.numbering import input_of
from spark_jobs.values.times import at_micros

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row

BYTES: Final = "spark_jobs.rejected.values_kept"
"""What puts bytes to the rejected records of values with many. Loaded by name: most have one."""


class RejectedRecord(NamedTuple):
    """A record that was not accepted, as Kafka has it."""

    partition: int
    offset: int
    kafka_timestamp: datetime | None
    """None if it is no time (source/kafka_time.py)."""
    kafka_millis: int | None
    """It then, in milliseconds since 1970; else None."""
    event_time: datetime | None
    """None if the record is malformed."""
    key: bytes | None
    value: bytes | None
    headers: list[dict[str, Any]] | None
    """key str and value bytes or None of each, as Arrow has them; None if none were read."""
    outcome: Outcome
    """One of outcome.REJECTED."""
    malformed: str | None
    """Why it cannot be decoded; None if it can."""
    element: int | None = None
    """Its number in its value; None where a value is one record, or is refused as a whole."""

    @classmethod
    def of_progress(cls, record: Mapping[str, Any]) -> Self:
        """From the struct of steps/capture.py, in the JSON of Spark's progress: no key where it
        is null, bytes in base64.
        """
        return cls(
            partition=record["partition"],
            offset=record["offset"],
            kafka_timestamp=at_micros(record.get("kafka_us")),
            kafka_millis=record.get("kafka_millis"),
            event_time=at_micros(record.get("event_us")),
            key=_bytes(record.get("key")),
            value=_bytes(record.get("value")),
            headers=_headers(record.get("headers")),
            outcome=Outcome(record["fate"]),
            malformed=record.get("malformed"),
            element=record.get("element"),
        )

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row with a column for each field, the event time in microseconds since 1970."""
        told = {
            "outcome": Outcome(row["outcome"]),
            "event_time": at_micros(row["event_time"]),
        }
        return cls(**{**row, **told})

    def quarantined(self, inputs: Topics, batch: Batch) -> Row:
        """Its columns in ops.quarantine, without the batch's."""
        return self._raw(inputs) | {
            "kind": self.outcome.value,
            "reason": self._reason(inputs.of_partition(self.partition), batch),
            "planned_at": at_micros(batch.clock_ms * 1000) if batch.clock_ms else None,
            "left_out": None,
        }

    def late(self, inputs: Topics, batch: Batch, step: str) -> Row:
        """Its columns in ops.late, without the batch's. What the record has besides comes from
        steps/capture.py and rejected/rejected_store.py; ops/schema.py declares the columns.

        `step` is the kind of the step that dropped it.
        """
        return self._raw(inputs) | {
            "watermark_missed": at_micros(batch.late_before_ms * 1000),
            "step": step,
        }

    def _raw(self, inputs: Topics) -> Row:
        return {
            "topic": inputs.of_partition(self.partition).name,
            "partition": self.partition,
            "offset": self.offset,
            "element": self.element,
            "kafka_timestamp": self.kafka_timestamp,
            "kafka_millis": self.kafka_millis,
            "event_time": self.event_time,
            "key": self.key,
            "value": self.value,
            "headers": self.headers,
        }

    def _reason(self, topic: Topic, batch: Batch) -> str:
        if self.event_time is None or self.malformed is not None:
            return self.malformed or ""
        sent, of = self.kafka_timestamp, "the Kafka timestamp"
        # Else both times are the producer's, whose clock is wrong, or there is only one.
        if sent is None or self.event_time - sent <= topic.max_ahead:
            sent, of = (
                at_micros(batch.clock_ms * 1000),
                "the moment at which its batch was planned",
            )
        assert sent is not None
        ahead = self.event_time - sent
        return f"event time is {ahead} past {of}; at most {topic.max_ahead} is allowed"


def with_reasons(records: Sequence[RejectedRecord], inputs: Topics) -> list[RejectedRecord] | None:
    """The same records, with words in place of PENDING; None where the decoders disagree."""
    pending = [each for each in records if each.malformed == PENDING]
    told = reasons([Refused(each.partition, each.offset, each.value) for each in pending], inputs)
    if told is None:
        return None
    words = iter(told)
    return [
        each._replace(malformed=next(words)) if each.malformed == PENDING else each
        for each in records
    ]


def _bytes(base64: str | None) -> bytes | None:
    return None if base64 is None else b64decode(base64)


def _headers(given: list[Mapping[str, Any]] | None) -> list[dict[str, Any]] | None:
    if given is None:
        return None
    return [{"key": each["key"], "value": _bytes(each.get("value"))} for each in given]


def by_topic(records: Iterable[RejectedRecord]) -> dict[int, Counter[str]]:
    """Number of a topic -> how many of its records, by their outcome."""
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for record in records:
        found[input_of(record.partition)][record.outcome] += 1
    return found
