"""A pipeline, declared. Everything that differs between two pipelines is here; everything else is Sluice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.contract import cron, output_mode
from spark_jobs.contract.checks import STATE_METRICS, Check
from spark_jobs.contract.duration import Duration
from spark_jobs.contract.model import Model, refuse
from spark_jobs.contract.output_mode import OutputMode
from spark_jobs.contract.steps import Aggregate, Columns, Deduplicate, GroupState, Step
from spark_jobs.contract.topic import Name, Topic


class State(Model):
    """Where and how state is kept. Frozen into the checkpoint by the first batch."""

    version: int = Described(default=1, ge=1, description="raise it to start a new state beside the old one")
    shuffle_partitions: int = Described(
        default=2, ge=1, le=10_000,
        description="state stores for each stateful step; near the cores you run on: each costs time in every batch",
    )
    provider: Literal["rocksdb", "hdfs"] = Described(
        default="rocksdb", description="rocksdb keeps state off the heap; hdfs is faster while all state fits the heap"
    )
    budget_rows: int | None = Described(
        default=None, ge=1, description="how many rows of state are tolerable; demanded where nothing evicts state"
    )


class Schedule(Model):
    """When Airflow runs the drain. Times are UTC."""

    cron: str = Described(default="0 * * * *", description="five cron fields: minute, hour, day of month, month, day of week")
    start: datetime = Described(default=datetime(2026, 1, 1, tzinfo=UTC), description="no run before this")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        wrong = cron.fault(self.cron)
        if wrong:
            refuse("cron", self.cron, wrong, "Write for example '0 * * * *' (hourly) or '30 6 * * mon-fri'")
        if self.start.tzinfo is None:
            refuse("start", self.start, "it has no time zone, so its instant depends on the machine",
                   "Use datetime(..., tzinfo=UTC)")
        return self


class Pipeline(Model):
    """One topic-to-table computation."""

    name: Name = Described(description="the folder, the table and the DAG")
    about: str = Described(description="one sentence for whoever reads the DAG list", min_length=1)
    topic: Topic = Described(description="where records come from")
    watermark_delay: Duration | None = Described(
        default=None, strict=False, description="how long to wait for out-of-order events; Spark's withWatermark"
    )
    steps: tuple[Step, ...] = Described(description="what happens to a record, in order", min_length=1)
    output_mode: OutputMode = Described(default="append", description="append, update or complete: see contract/output_mode.py")
    max_offsets_per_batch: int | None = Described(
        default=None, ge=1, description="cut a drain into batches of at most this many offsets; default: one batch"
    )
    max_batches: int | None = Described(default=None, ge=1, description="end a run after so many batches; the rest waits")
    max_minutes: float | None = Described(
        default=None, gt=0, description="begin no batch later than this after the query's start; the rest waits"
    )
    state: State = Described(default_factory=State, description="the state store")
    schedule: Schedule = Described(default_factory=Schedule, description="when Airflow runs it")
    output_checks: tuple[Check, ...] = Described(default=(), description="over the rows that a run wrote")
    state_checks: tuple[Check, ...] = Described(default=(), description="over a run's state metrics")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        self._refuse_watermark()
        self._refuse_event_time_not_a_key()
        columns: Columns = self.topic.columns
        for step in self.steps:
            columns = step.columns_after(columns)
        self._refuse_state_without_time()
        output_mode.refuse_impossible(self.output_mode, self.steps)
        self._refuse_unknown_columns("output_checks", self.output_checks, columns)
        self._refuse_unknown_columns("state_checks", self.state_checks, tuple(STATE_METRICS))
        return self

    def _refuse_state_without_time(self) -> None:
        last = next((n for n, step in enumerate(self.steps) if isinstance(step, Aggregate | GroupState)), len(self.steps))
        after = [step.kind for step in self.steps[last + 1 :] if step.stateful]
        if after:
            kind = self.steps[last].kind
            refuse("steps", after, f"rows that leave {kind} have no event time for a later stateful step", f"Put {kind} last")

    def _refuse_unknown_columns(self, field: str, checks: tuple[Check, ...], columns: Columns) -> None:
        for check in checks:
            unknown = [name for name in check.columns if columns is not None and name not in columns]
            if columns is not None and unknown:
                refuse(f"{field}: {check.type}", unknown, "there is no such column", f"Use one of {', '.join(columns)}")

    def _refuse_watermark(self) -> None:
        unbounded = output_mode.unbounded(self.output_mode, self.steps)
        evicted = [step.kind for step in self.steps if step.stateful and step.kind not in unbounded]
        if evicted and self.watermark_delay is None:
            refuse("watermark_delay", None,
                   f"the state of {evicted[0]} is evicted by the watermark, and would grow for ever without one",
                   "Say how long to wait for out-of-order events, for example watermark_delay='2 hours'")
        if unbounded and self.state.budget_rows is None:
            refuse("state.budget_rows", None, f"nothing ever evicts the state of {unbounded[0]}",
                   "Say how many rows of state are tolerable, or bound the step by the watermark")
        if self.watermark_delay is not None and self.watermark_delay <= timedelta():
            refuse("watermark_delay", str(self.watermark_delay),
                   "Spark then drops rows whose time equals the newest one seen",
                   "Wait for at least a second; minutes or hours are usual")

    def _refuse_event_time_not_a_key(self) -> None:
        for step in self.steps:
            if isinstance(step, Deduplicate) and step.scope == "event_time" and self.topic.event_time not in step.keys:
                refuse("Deduplicate.keys", step.keys, f"scope 'event_time' evicts by {self.topic.event_time}, which is no key",
                       "Add it to the keys, or use scope 'watermark'")

    @property
    def first_stateful(self) -> int:
        """The index of the first step that keeps state; len(steps) where none does."""
        return next((index for index, step in enumerate(self.steps) if step.stateful), len(self.steps))
