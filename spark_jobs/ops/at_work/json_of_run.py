"""What the views show of a run that has not ended."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field as Described

from spark_jobs.messages.part import Part
from spark_jobs.messages.report import Account

Standing = Literal["works", "silent", "died", "ended"]
Phase = Literal["prepares", "starts", "reads", "closes"]


class AtWork(Part):
    """A drain, by its note, its lease, its checkpoint and ops.batches."""

    pipeline: str = Described(description="the pipeline")
    run_id: str = Described(description="the run")
    kind: str = Described(description="what kind of run")
    started_at: datetime = Described(description="when it began")
    process: str = Described(description="its process and machine")
    looked_at: datetime = Described(description="when this was read, by the server's clock")
    standing: Standing = Described(
        description="works: its lease is held; silent: it gives no sign of life, or nobody can "
        "tell; died: its lease is free, and it told no end; ended: ops.runs has its row"
    )
    sign_at: datetime | None = Described(
        description="when it renewed its lease last; null on a disk, whose lock tells now"
    )
    phase: Phase = Described(
        description="prepares: looks at topic and checkpoint; starts: Spark, or the accounts that "
        "an earlier run left; reads; closes: all is read"
    )
    batch: int | None = Described(description="the batch that is planned and not committed")
    batches: int = Described(description="batches that it has accounted for")
    account: Account = Described(description="the sum of these batches")
    offsets_done: int = Described(description="offsets of them, and of those committed since")
    offsets_left: int | None = Described(
        description="offsets up to the end that it reads to; null as long as that is not known"
    )
    per_second: float | None = Described(description="records a second; null if nobody knows")
    basis: Literal["batches", "runs"] | None = Described(
        description="what that is measured by: its own last batches, or the last drains"
    )
    measured: int = Described(description="how many of these")
    seconds_left: float | None = Described(
        description="until all is read, at this rate; null if nobody knows"
    )
    words: dict[str, str] = Described(
        default_factory=dict, description="the same in words, as the page has it"
    )


class WorksNow(Part):
    """Of one pipeline."""

    runs: tuple[AtWork, ...] = Described(description="the drain, and the rebuild beside it")
