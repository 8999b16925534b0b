"""What the views show of the ops tables: the form of their JSON, and what the pages are made of.

Times are UTC. Text of others (errors, reasons, samples) is as it was stored: whoever shows it makes
it visible.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import Field as Described

from spark_jobs.contract.part import Part
from spark_jobs.contract.report import Account, CheckResult, Problem, StateUse


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
    duplicates: int = Described(description="records that a Deduplicate dropped")
    late: int = Described(description="records behind the watermark")
    malformed: int = Described(description="records that could not be decoded")
    premature: int = Described(description="records ahead of their time")
    unaccounted: int = Described(description="mismatches in the account; must be 0")
    state_rows: int | None = Described(description="rows in all state stores at its end")
    watermark: datetime | None = Described(description="Spark's watermark at its end")
    table_version: int | None = Described(description="the table's version at its end")


class PipelineLine(Part):
    """One pipeline on a line of the overview."""

    pipeline: str = Described(description="the pipeline")
    runs: tuple[RunLine, ...] = Described(description="its last drains, newest first")
    late: int = Described(description="rows in ops.late")
    quarantined: int = Described(description="rows in ops.quarantine")


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
    state_rows: int | None = Described(description="rows in all state stores at its end")
    state_bytes: int | None = Described(description="bytes of memory and of RocksDB's files")
    watermark: datetime | None = Described(description="Spark's watermark in the batch")
    table_version: int | None = Described(description="the table's version that it committed")
    steps: tuple[StepUse, ...] = Described(description="its stateful steps")


class CheckLine(Part):
    """A check of a run, and what it observed before."""

    result: CheckResult = Described(description="the result in this run")
    history: tuple[str, ...] = Described(
        description="what it observed in earlier runs, newest first, as JSON"
    )


class RunPage(Part):
    """One run, with all that is stored of it."""

    line: RunLine = Described(description="the run on a line")
    what: Problem | None = Described(description="the error that ended it, in words")
    account: Account = Described(description="what happened to each offset")
    state: StateUse = Described(description="the state stores at its end")
    seconds: dict[str, float] = Described(description="phase -> seconds")
    offsets_start: dict[str, int] = Described(description="partition -> first offset")
    offsets_end: dict[str, int] = Described(description="partition -> next offset to read")
    batches: tuple[BatchLine, ...] = Described(description="its batches, ascending")
    checks: tuple[CheckLine, ...] = Described(description="its checks")
    next_command: str = Described(description="the command to look closer, or to go on")


class Bucket(Part):
    """Rejected records of one kind on one day."""

    day: str = Described(description="the day of the Kafka timestamp, in UTC")
    reason: str = Described(description="late: the step; quarantine: the kind and the reason")
    records: int = Described(description="how many")


class RejectedLine(Part):
    """One late or quarantined record, without its bytes."""

    topic: str | None = Described(description="the record's topic")
    partition: int = Described(description="its partition")
    offset: int = Described(description="its offset")
    kafka_timestamp: datetime | None = Described(description="its Kafka timestamp")
    event_time: datetime | None = Described(description="its event time; null if not decoded")
    reason: str = Described(description="late: the step; quarantine: the kind and the reason")
    watermark_missed: datetime | None = Described(
        description="the watermark that a late one missed"
    )
    batch: int = Described(description="the batch that rejected it")
    run_id: str | None = Described(description="the run that rejected it")


class Overview(Part):
    """All pipelines that a person may see."""

    pipelines: tuple[PipelineLine, ...] = Described(description="by name")


class Runs(Part):
    """A page of runs."""

    runs: tuple[RunLine, ...] = Described(description="newest first")
    more: bool = Described(description="whether there are older ones")


class Batches(Part):
    """A page of batches."""

    batches: tuple[BatchLine, ...] = Described(description="newest first")
    more: bool = Described(description="whether there are older ones")


class Rejected(Part):
    """Rejected records: how many of which kind, and a page of them."""

    days: tuple[Bucket, ...] = Described(description="by day and reason, at most 1,000")
    records: tuple[RejectedLine, ...] = Described(description="newest first")
    more: bool = Described(description="whether there are older ones")
