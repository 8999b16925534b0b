"""A pipeline, declared. Everything that differs between two pipelines is here; everything else is Sluice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.contract import cron, output_mode
from spark_jobs.contract.checks import Check
from spark_jobs.contract.columns import Columns
from spark_jobs.contract.duration import Duration
from spark_jobs.contract.model import Model, refuse
from spark_jobs.contract.output_mode import OutputMode
from spark_jobs.contract.reader_options import ReaderOptions
from spark_jobs.contract.spark_options import SparkOptions
from spark_jobs.contract.state_metrics import STATE_METRICS
from spark_jobs.contract.steps import Deduplicate, GroupState, Stateful, Step, Transform
from spark_jobs.contract.topic import Name, Topic


class State(Model):
    """Where and how state is kept. Frozen into the checkpoint by the first batch."""

    version: int = Described(
        default=1, ge=1, description="the v1 in the checkpoint's path; a raised one needs a new table too: sluice reset"
    )
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
    budget_bytes: int = Described(
        default=2**30, ge=1, description="how much memory and disk the state may take before a check warns"
    )

    @property
    def format(self) -> int:
        """The version of Spark's state checkpoints: 2 gives each an id of its own, so that a batch which was run twice cannot
        leave a mixture of two states. Only RocksDB has it."""
        return 2 if self.provider == "rocksdb" else 1


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
    output_mode: OutputMode = Described(
        default="append",
        description="append: a row is written once, when it is final; update: a group that changed is written again, over its "
                    "last row; complete: every batch writes the whole result",
    )
    max_offsets_per_batch: int | None = Described(
        default=None, ge=1, description="cut a drain into batches of at most this many offsets; default: one batch"
    )
    on_lost_records: Literal["refuse", "skip"] = Described(
        default="refuse",
        description="what to do about records that retention removed unread: refuse to run, or go on and record how many",
    )
    reader_options: ReaderOptions = Described(
        default_factory=dict, description="options of Spark's Kafka reader, of those that Sluice takes"
    )
    spark: SparkOptions = Described(
        default_factory=dict, description="options of Spark for this pipeline's runs; they go before others: docs/cluster.md"
    )
    max_batches: int | None = Described(default=None, ge=1, description="end a run after so many batches; the rest waits")
    max_minutes: float | None = Described(
        default=None, gt=0, description="begin no batch later than this after the query's start; the rest waits"
    )
    close_after: Duration | None = Described(
        default=None, strict=False,
        description="once the topic is silent so long, event time moves on to the clock's less this much; windows close",
    )
    state: State = Described(default_factory=State, description="the state store")
    compatible_logic: tuple[str, ...] = Described(
        default=(), description="digests of earlier logic.py whose state this one can go on with; a refused run names its own"
    )
    schedule: Schedule = Described(default_factory=Schedule, description="when Airflow runs it")
    output_checks: tuple[Check, ...] = Described(default=(), description="over the rows that a run wrote")
    state_checks: tuple[Check, ...] = Described(
        default=(), description="over a run's state metrics; one takes the place of the default on the same metric"
    )
    state_checks_off: tuple[str, ...] = Described(default=(), description="metrics whose default check is not wanted")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        self._refuse_watermark()
        self._refuse_close_after()
        columns: Columns = self.topic.columns
        time: str | None = self.topic.event_time
        for index, step in enumerate(self.steps):
            if step.stateful and time is None:
                self._refuse_without_time(index)
            # No other step's keys decide what evicts it.
            if isinstance(step, Deduplicate) and step.scope == "event_time" and time not in step.keys:
                refuse("Deduplicate.keys", step.keys, f"scope 'event_time' evicts by {time}, which is no key",
                       "Add it to the keys, or use scope 'watermark'")
            columns, time = step.columns_after(columns), step.time_after(time)
        output_mode.refuse_impossible(self.output_mode, self.steps)
        self._refuse_provider()
        self._refuse_unknown_columns("output_checks", self.output_checks, columns)
        self._refuse_unknown_columns("state_checks", self.state_checks, tuple(STATE_METRICS))
        for metric in self.state_checks_off:
            if metric not in STATE_METRICS:
                refuse("state_checks_off", metric, "it is not a state metric", f"Use one of {', '.join(STATE_METRICS)}")
            if metric in ("unaccounted", "state_rows"):
                refuse("state_checks_off", metric, "it guards what nothing else would notice", "Leave it on")
        return self

    def _refuse_without_time(self, index: int) -> None:
        before = next(step for step in reversed(self.steps[:index]) if step.time_after("") is None)
        if isinstance(before, GroupState) and before.form == "apply":  # the one form that takes no event_time
            refuse("steps", self.steps[index].kind, "Spark lets nothing stateful follow applyInPandasWithState",
                   "Use form='row' or 'pandas', or put it last")
        refuse("steps", self.steps[index].kind, f"rows that leave {before.kind} have no event time for a later stateful step",
               f"Give the {before.kind} an event_time, or put it last")

    def _refuse_provider(self) -> None:
        if self.state.provider != "rocksdb" and any(step.needs_rocksdb for step in self.steps):
            refuse("state.provider", self.state.provider, "Spark's transformWithState runs on RocksDB alone",
                   "Use provider='rocksdb', or GroupState(form='apply')")

    def _refuse_close_after(self) -> None:
        if self.close_after is not None and self.watermark_delay is None:
            refuse("close_after", str(self.close_after), "it moves the watermark, and there is none",
                   "Give a watermark_delay too")

    def _refuse_unknown_columns(self, field: str, checks: tuple[Check, ...], columns: Columns) -> None:
        for check in checks:
            unknown = [name for name in check.columns if columns is not None and name not in columns]
            if columns is not None and unknown:
                refuse(f"{field}: {check.type}", unknown, "there is no such column", f"Use one of {', '.join(columns)}")

    def _refuse_watermark(self) -> None:
        unbounded = output_mode.unbounded(self.output_mode, self.steps)
        by_time = [step.kind for step in self.steps if step.stateful and step.evicted_by == "watermark"]
        evicted = [kind for kind in by_time if kind not in unbounded]
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

    @property
    def first_stateful(self) -> int:
        """The index of the first step that keeps state; len(steps) where none does."""
        return next((index for index, step in enumerate(self.steps) if step.stateful), len(self.steps))

    @property
    def before_state(self) -> tuple[Transform, ...]:
        """The steps before the first stateful one: each of their rows is a record still."""
        return tuple(step for step in self.steps[: self.first_stateful] if not step.stateful)

    @property
    def entry(self) -> Stateful | None:
        """The first step that keeps state: it drops late records. None where no step keeps state."""
        return next((step for step in self.steps if step.stateful), None)

    @property
    def endless(self) -> bool:
        """Whether Spark itself would never end an availableNow run: a step goes by the clock and not by the watermark."""
        return any(step.endless for step in self.steps)
