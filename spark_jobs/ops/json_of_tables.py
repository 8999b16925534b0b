"""What the views show of the ops tables: the form of their JSON, and what the pages are made of.

Times are UTC. Text of others (errors, reasons, samples) is as it was stored: who shows it makes it
visible.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import Field as Described

from spark_jobs.messages.change import Change
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.part import HeldBack, Part
from spark_jobs.messages.report import CheckResult, Problem, StateUse


class RunLine(Part):
    """One run on a line."""

    pipeline: str = Described(description="the pipeline")
    run_id: str = Described(
        description="the run; in Airflow the DAG run's id and the number of the try"
    )
    kind: str = Described(description="what kind of run")
    status: str = Described(description="succeeded or failed")
    problem: str | None = Described(description="the code of the error that ended it; null if none")
    started_at: datetime = Described(description="when it began")
    ended_at: datetime = Described(description="when it ended")
    query_seconds: float | None = Described(description="seconds of the streaming query")
    read: int = Described(description="records that it read")
    rows_out: int = Described(description="rows that it wrote")
    duplicates: int | None = Described(
        description="records that a Deduplicate dropped; null if not known"
    )
    late: int = Described(description="records behind the watermark")
    malformed: int = Described(description="records that could not be decoded")
    premature: int = Described(description="records ahead of their time")
    unaccounted: int | None = Described(
        description="mismatches in the account; must be 0; null if not known"
    )
    state_rows: int | None = Described(description="rows in all state stores at its end")
    watermark: datetime | None = Described(description="Spark's watermark at its end")
    table_version: int | None = Described(description="the table's version at its end")
    filtered: int | None = Described(
        default=None,
        description="records that a condition before the first stateful step removed; null where "
        "it was not asked of ops.batches",
    )


class StepUse(Part):
    """One stateful step at the end of a batch."""

    step: int = Described(description="the step, counted from 1")
    kind: str = Described(description="deduplicate, aggregate or group_state")
    rows: int | None = Described(description="rows in its state store")
    memory: int | None = Described(description="bytes of memory")
    files: int | None = Described(description="bytes of RocksDB's files")


class BatchLine(Part):
    """One micro-batch, with its account."""

    batch: int = Described(description="Spark's id of the micro-batch")
    generation: str = Described(description="the checkpoint's generation")
    run_id: str | None = Described(description="the run that accounted for it")
    audited_at: datetime | None = Described(description="when the audit accounted for it")
    seconds: float | None = Described(
        description="its duration; null if the batch's progress was lost"
    )
    source: str | None = Described(
        description="progress, or reread: it was counted from Kafka, read again"
    )
    account: Account = Described(description="what happened to each offset")
    offsets_start: str | None = Described(description="partition -> first offset, as JSON")
    offsets_end: str | None = Described(description="partition -> offset after the last, as JSON")
    schemas: str | None = Described(
        default=None,
        description="id of a schema -> the records that begin with it, as JSON; null without a "
        "registry, or if not known",
    )
    topics: str | None = Described(
        default=None, description="of several topics: name -> its account, as JSON; null with one"
    )
    rules: dict[str, int] | None = Described(
        default=None, description="rule -> the records that fail it; null without rules"
    )
    unmatched: dict[str, int] | None = Described(
        default=None,
        description="dimension -> the rows that found none of its rows; null without one, or if "
        "not known",
    )
    state_rows: int | None = Described(description="rows in all state stores at its end")
    state_bytes: int | None = Described(description="bytes of memory and of RocksDB's files")
    watermark: datetime | None = Described(description="Spark's watermark in the batch")
    table_version: int | None = Described(description="the table's version that it committed")
    steps: tuple[StepUse, ...] = Described(description="its stateful steps")


class TopicLine(Part):
    """What one of several topics brought in a run."""

    topic: str = Described(description="its name")
    read: int = Described(description="records that the run read of it; 0: it was silent")
    gaps: int = Described(default=0, description="offsets of it without a record")
    malformed: int = Described(description="of these, those that could not be decoded")
    premature: int = Described(description="those ahead of their time")
    filtered: int = Described(description="those that a condition removed")
    late: int = Described(description="those behind the watermark")
    accepted: int = Described(description="the others")
    unaccounted: int = Described(description="mismatches in its account; must be 0")
    newest: datetime | None = Described(description="its largest event time; null without one")
    behind: timedelta | None = Described(
        description="how far that is behind the largest of all topics; null likewise"
    )


class CheckLine(Part):
    """A check of a run, and what it observed before."""

    result: CheckResult = Described(description="the result in this run")
    history: tuple[str, ...] = Described(
        description="what it observed in earlier runs, newest first, as JSON"
    )
    runs: tuple[str, ...] = Described(description="those runs")
    unexpected: tuple[int, ...] = Described(description="the failing rows in those runs")
    least: float | None = Described(
        default=None, description="the least that it allows; null without such a bound"
    )
    bound: float | None = Described(
        description="the most that the spec allows today, of what is observed; null if it is no "
        "such bound"
    )


class NextStep(Part):
    """A command that follows from a run."""

    why: str = Described(description="what it is good for")
    command: str = Described(description="the command")


class BesideLine(Part):
    """A table beside the stream, in batches that read one version of it."""

    table: str = Described(description="the table's name in the spec")
    version: int | None = Described(description="its version; null if it is noted no longer")
    batches: tuple[int, ...] = Described(description="the batches")
    unmatched: int | None = Described(
        description="the rows that found none of its rows; null if not known of a batch"
    )


class RunPage(Part):
    """One run, with all that is stored of it."""

    line: RunLine = Described(description="the run on a line")
    lacking: str | None = Described(
        default=None, description="why its report could not be read; null if it was"
    )
    what: Problem | None = Described(description="the error that ended it, in words")
    account: Account = Described(description="what happened to each offset")
    cut_off: bool = Described(
        default=False,
        description="whether the account is its batches', as it did not end by itself",
    )
    bounded_by: str = Described(
        default="", description="the limit that ended it; empty where none did"
    )
    waiting: int = Described(default=0, description="offsets that such a limit left")
    published: bool | None = Described(
        default=None,
        description="whether consumers were told of the rows that it wrote; null if it wrote none, "
        "or nobody knows",
    )
    change: Change | None = Described(
        default=None, description="of one that computes beside the table: how the table differs"
    )
    state: StateUse = Described(description="the state stores at its end")
    seconds: dict[str, float] = Described(description="phase -> seconds")
    offsets_start: dict[str, int] = Described(description="partition -> first offset")
    offsets_end: dict[str, int] = Described(description="partition -> next offset to read")
    held_back: dict[str, HeldBack] = Described(
        default_factory=dict,
        description="partition -> what waited behind an open transaction when it began",
    )
    batches: tuple[BatchLine, ...] = Described(description="its batches, ascending")
    topics: tuple[TopicLine, ...] = Described(
        default=(), description="of several topics: each one's share; empty with one"
    )
    beside: tuple[BesideLine, ...] = Described(
        default=(), description="of tables beside the stream: what its batches read"
    )
    rules: dict[str, int] = Described(
        default_factory=dict, description="rule -> the records that fail it"
    )
    checks: tuple[CheckLine, ...] = Described(description="its checks")
    next_command: str = Described(description="the command to look closer, or to go on")
    next_steps: tuple[NextStep, ...] = Described(description="it and others, each with its reason")


OTHERS: Final = "other reasons"


class Bucket(Part):
    """Rejected records of one kind on one day."""

    day: str = Described(
        description="the day of the Kafka timestamp, in UTC; empty if that is no time"
    )
    reason: str = Described(
        description="late: the step; quarantine: the kind and the reason; `other reasons` of a day "
        "that has too many"
    )
    records: int = Described(description="how many")


class RejectedLine(Part):
    """One late or quarantined record, without its bytes."""

    topic: str | None = Described(description="the record's topic")
    generation: str = Described(description="the checkpoint's generation that rejected it")
    partition: int = Described(description="its partition")
    offset: int = Described(description="its offset")
    element: int | None = Described(
        default=None, description="its number in its value, of a topic with `each`"
    )
    kafka_timestamp: datetime | None = Described(
        description="its Kafka timestamp; null if that is no time"
    )
    kafka_millis: int | None = Described(
        description="it then, in milliseconds since 1970; else null"
    )
    event_time: datetime | None = Described(description="its event time; null if not decoded")
    reason: str = Described(description="late: the step; quarantine: the kind and the reason")
    watermark_missed: datetime | None = Described(
        description="the watermark that a late one missed"
    )
    batch: int = Described(description="the batch that rejected it")
    run_id: str | None = Described(description="the run that rejected it")


class Runs(Part):
    """A page of runs."""

    runs: tuple[RunLine, ...] = Described(description="newest first")
    more: bool = Described(description="whether there are older ones")


class Batches(Part):
    """A page of batches."""

    batches: tuple[BatchLine, ...] = Described(description="newest first")
    more: bool = Described(description="whether there are older ones")


class Rejected(Part):
    """Rejected records: the number of each kind, and a page of records."""

    days: tuple[Bucket, ...] = Described(description="by day and reason, at most 1,000")
    records: tuple[RejectedLine, ...] = Described(description="newest first")
    more: bool = Described(description="whether there are older ones")


Withheld = Literal["setting", "right"]
"""Why the bytes are not shown: SLUICE_RECORD_BYTES is not `shown`; or the person may not edit the
DAG.
"""


class FieldShown(Part):
    """One field of a record."""

    name: str = Described(description="its name, without invisible characters")
    declared: str | None = Described(description="its type in the spec; null if it declares none")
    value: str | None = Described(
        description="its value as JSON, cut; null if it is missing or cannot be decoded"
    )
    wrong: str | None = Described(default=None, description="why it cannot be decoded")


class RawShown(Part):
    """A key or a value, bounded."""

    size: int = Described(description="its bytes in Kafka")
    text: str = Described(description="its first characters, invisible ones escaped")
    text_whole: bool = Described(description="whether that is all of it")
    hexadecimal: tuple[str, ...] = Described(description="its first bytes, sixteen a line")
    hexadecimal_whole: bool = Described(description="whether that is all of it")
    fields: tuple[FieldShown, ...] = Described(
        description="its fields, as far as they can be decoded"
    )
    not_decoded: str = Described(description="why it has no fields, or how many are left out")


class HeaderShown(Part):
    """One header of a record, bounded."""

    name: str = Described(description="its name, without invisible characters")
    declared: str | None = Described(description="its type in the spec; null if it declares none")
    size: int | None = Described(description="the bytes of its value; null if that is null")
    value: str | None = Described(
        description="its value as text, cut, invisible characters escaped; null if that is null"
    )


class RecordPage(Part):
    """One late or quarantined record."""

    line: RejectedLine = Described(description="where it was and why it was rejected")
    late_by_seconds: float | None = Described(
        description="how far its event time was behind the watermark; null if it was not late"
    )
    withheld: Withheld | None = Described(
        description="why key and value are not shown: setting or right; null if they are"
    )
    key: RawShown | None = Described(description="its key; null if it has none or it is withheld")
    value: RawShown | None = Described(description="its value; null likewise")
    headers: tuple[HeaderShown, ...] | None = Described(
        default=None,
        description="its headers in their order, 100 at most; null if the spec read none, or "
        "withheld",
    )


class PhaseLine(Part):
    """The seconds of one run."""

    run_id: str = Described(description="the run")
    started_at: datetime = Described(description="when it began")
    seconds: dict[str, float] = Described(description="phase -> seconds")


class Phases(Part):
    """A page of runs with their seconds."""

    runs: tuple[PhaseLine, ...] = Described(description="newest first")
    more: bool = Described(description="whether there are older ones")
