"""The spec of a pipeline. It declares everything in which two pipelines differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import Field as Described, InstanceOf, SerializeAsAny, model_validator

from spark_jobs.spec import cron, output_mode, several
from spark_jobs.spec.checks.check import CONDITION, STATE_METRICS, Check
from spark_jobs.spec.checks.rule import rule_metrics
from spark_jobs.spec.checks.unmatched_share import PREFIX as UNMATCHED
from spark_jobs.spec.columns import Columns, Origin, Origins, one_of
from spark_jobs.spec.duration import Duration
from spark_jobs.spec.inputs import Topics
from spark_jobs.spec.model import OF_A_VARIABLE, Model, refuse
from spark_jobs.spec.output_mode import OutputMode
from spark_jobs.spec.publish_at import PublishAt
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.reader_options import ReaderOptions
from spark_jobs.spec.several import MoreTopics, Several
from spark_jobs.spec.side import SideTable
from spark_jobs.spec.spark_options import SparkOptions
from spark_jobs.spec.sql import raw_bytes_in
from spark_jobs.spec.steps.step import Step
from spark_jobs.spec.steps.unmatched import looked_up
from spark_jobs.spec.table.layout import Layout
from spark_jobs.spec.topic import Name, Topic
from spark_jobs.spec.windows import Session

if TYPE_CHECKING:
    from spark_jobs.spec.steps.following import Following

MOST_PARTITIONS = 10_000
"""State stores that a stateful step may have."""
NO_RAW = "kafka.raw is kept of rejected records only, and is null in all others"
NO_RAW_WAY = (
    "Use the topic's fields, and kafka.partition, kafka.offset and kafka.timestamp; what you need "
    "of the key, the producer writes into the value too"
)


class State(Model):
    """How Spark stores state. The first batch fixes provider, format and partitions in the
    checkpoint.
    """

    version: int = Described(default=1, ge=1)
    """the v1 in the checkpoint's path; NEXT, the spec that `sluice rebuild` computes, has another
    one than SPEC
    """
    shuffle_partitions: int = Described(default=2, ge=1, le=MOST_PARTITIONS)
    """state stores for each stateful step: about as many as cores, since each costs time in every
    batch; the first batch fixes it, and `sluice repartition` changes it
    """
    provider: Literal["rocksdb", "hdfs"] = "rocksdb"
    """rocksdb keeps state off the JVM's heap; hdfs is faster while all state fits into the heap"""
    budget_rows: int | None = Described(default=None, ge=1)
    """most rows of state before a critical check fails; required if nothing evicts state"""
    budget_bytes: int = Described(default=2**30, ge=1)
    """bytes of memory and disk that the state may use before a check warns"""

    @property
    def format(self) -> int:
        """The version of Spark's state checkpoint format.

        Version 2 gives each checkpoint an id, so that a batch that ran twice cannot leave a mixture
        of two states. Only RocksDB has version 2.
        """
        return 2 if self.provider == "rocksdb" else 1

    @property
    def takes_trials(self) -> bool:
        """Whether a batch may be tried, and then be run with other records.

        Not without those ids: Spark's maintenance may write a snapshot of what the try did. The
        batch then overwrites its changes only, and the next process reads the snapshot.
        """
        return self.provider == "rocksdb"


def positive(field: str, value: timedelta) -> None:
    """Refuse a duration that is not more than 0."""
    if value <= timedelta():
        refuse(field, value, "it must be more than 0", "Write for example '30 minutes'")


LEAST_BETWEEN = timedelta(seconds=10)


class WhenData(Model):
    """Starts a run when records wait and no run is queued or at work."""

    every: Duration = Described(default=timedelta(minutes=1), strict=False)
    """how often it looks; least 10 seconds"""
    at_least: int = Described(default=1, ge=1)
    """how many offsets must wait"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.every < LEAST_BETWEEN:
            refuse("every", self.every, "each look asks the brokers", "Write '10 seconds' or more")
        return self


class Schedule(Model):
    """When Airflow runs the drain. Times are UTC."""

    cron: str = "0 * * * *"
    """five cron fields: minute, hour, day of month, month, day of week"""
    when_data: WhenData | None = None
    """starts runs also when records wait"""
    after: Name | None = None
    """starts runs also when this pipeline has published"""
    start: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    """no run before this time"""
    execution_timeout: Duration = Described(default=timedelta(hours=6), strict=False)
    """after this, Airflow ends the drain; another try resumes"""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        wrong = cron.invalid_because(self.cron)
        if wrong:
            refuse(
                "cron",
                self.cron,
                wrong,
                "Write for example '0 * * * *' (hourly) or '30 6 * * mon-fri'",
            )
        positive("execution_timeout", self.execution_timeout)
        if self.start.tzinfo is None:
            refuse(
                "start",
                self.start,
                "it has no time zone, so it means another time on another machine",
                "Use datetime(..., tzinfo=UTC)",
            )
        return self


class Pipeline(Model):
    """One computation from a Kafka topic to a Delta table."""

    name: Name
    """the name of the folder, the table and the DAG"""
    about: str = Described(min_length=1)
    """one sentence for the list of DAGs"""
    owner: str = ""
    """who owns the published table in a catalog"""
    root: str = Described(default="", pattern=OF_A_VARIABLE, max_length=30)
    """its root, if there are several: deploy.md"""
    topic: Topic = Described(
        default=cast("Topic", None),  # nobody sees it: `topics` gives it, or it is refused
        validate_default=False,
    )
    """the topic that it reads"""
    topics: tuple[Topic, ...] = ()
    """in place of `topic`: several, read as one"""
    more_topics: MoreTopics | None = None
    """topics that come later"""
    watermark_delay: Duration | None = Described(default=None, strict=False)
    """how long to wait for out-of-order events: the delay of Spark's withWatermark"""
    steps: tuple[SerializeAsAny[InstanceOf[Step]], ...] = Described(min_length=1)
    """the steps that a record passes, in order"""
    output_mode: OutputMode = "append"
    """append: a row is written once, when it is final; update: a changed group is written again and
    replaces its last row; complete: every batch writes the whole result
    """
    publish_at: SerializeAsAny[InstanceOf[PublishAt]] | None = None
    """where runs end and publish; default: anywhere"""
    max_offsets_per_batch: int | None = Described(default=None, ge=1)
    """a drain has batches of at most this many offsets; default: one batch"""
    on_lost_records: Literal["refuse", "skip"] = "refuse"
    """if retention removed unread records: refuse to run, or skip them and record how many"""
    on_failing_expression: Literal["refuse", "quarantine"] = "refuse"
    """if an expression fails on several records together, as a sum that overflows, or on more than
    100 of a batch: refuse, and propose them to `sluice quarantine`; or put them into quarantine, of
    a group all of the batch's records
    """
    reader_options: ReaderOptions = Described(default_factory=dict)
    """options of Spark's Kafka reader; Sluice refuses the ones that it sets itself"""
    spark: SparkOptions = Described(default_factory=dict)
    """Spark options for this pipeline's runs; they override all others: docs/deploy.md"""
    max_batches: int | None = Described(default=None, ge=1)
    """end a run after this many batches; the next run reads the rest"""
    max_minutes: float | None = Described(default=None, gt=0)
    """start no batch later than this many minutes after the query's start; the next run reads the
    rest
    """
    stall_timeout: Duration = Described(default=timedelta(minutes=30), strict=False)
    """end a run in which no batch, job or task has begun or ended for this long, and keep a thread
    dump. Outside of the query, five minutes at least
    """
    close_after: Duration | None = Described(default=None, strict=False)
    """once the topic is silent for this long, event time advances to now minus this, so windows
    close
    """
    silent_after: Duration | None = Described(default=None, strict=False)
    """how long one of several topics may give nothing and hold the watermark back; default: for
    ever
    """
    state: State = Described(default_factory=State)
    """how Spark stores state"""
    compatible_logic: tuple[str, ...] = ()
    """digests of earlier code (logic.py and the modules that it imports) whose state the present
    code can use; a failed or refused run names the digest
    """
    compatible_expressions: tuple[str, ...] = ()
    """earlier texts of where, sql, measures and gap_sql whose state the present ones can use; a
    refused run names them
    """
    schedule: Schedule = Described(default_factory=Schedule)
    """when Airflow runs it"""
    ranges: Ranges = Described(default_factory=Ranges)
    """how ranges of the output are computed again"""
    layout: Layout = Described(default_factory=Layout)
    """how the table's files lie, and its properties"""
    output_checks: tuple[Check, ...] = ()
    """checks over the rows that a run wrote"""
    state_checks: tuple[Check, ...] = ()
    """checks over a run's state metrics; each replaces the default check on its metric"""
    state_checks_off: tuple[str, ...] = ()
    """state metrics without their default check"""

    @model_validator(mode="before")
    @classmethod
    def _one_topic(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Of `topics`, `topic` is what they have in common (spec/several.py). Of a topic whose
        changes a step follows, what it places them by is required.
        """
        topic = given.get("topic")
        if isinstance(topic, tuple | list):
            refuse("topic", type(topic).__name__, "one is a Topic", "Write topics=(ONE, TWO)")
        match topic, given.get("steps"):
            case Topic(), [Step() as first, *_]:
                given = given | {"topic": topic.requiring(first.placed)}
        if "topics" not in given or (given["topics"] == () and topic is not None):
            return given
        topics = several.refuse_none(given["topics"])
        if topic is not None and not isinstance(topic, Several):
            refuse("topic", topic.name, "topics is there too", "Set one of the two")
        steps = several.taking(given.get("steps"), topics)
        of_all = Several.of(topics, apart=several.apart(steps))
        return given | {"topics": topics, "topic": of_all, "steps": steps}

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.topic is None:
            refuse("topic", None, "a pipeline reads a topic", "Set topic, or topics for several")
        self._refuse_more_topics()
        self._refuse_unserved()
        self._refuse_watermark()
        self._refuse_silence()
        self._refuse_close_after()
        positive("stall_timeout", self.stall_timeout)
        columns: Columns = self.inputs.columns
        types, time = self.inputs.types, cast("str | None", self.inputs.event_time)
        for index, step in enumerate(self.steps):
            if step.stateful and time is None:
                self._refuse_without_time(index)
            step.refuse_time(time, self.output_mode)
            self._refuse_keys(step, types)
            step.refuse_types(types)
            columns, time = step.columns_after(columns), step.time_after(time)
            types = step.types_after(types)
        for at, step in enumerate(self.steps):
            step.refuse_beside(
                self.steps[:at],
                self.steps[at + 1 :],
                self.output_mode,
                several=self.is_several,
                undeleted=self.topic.tombstones == "dropped" and not self.topic.envelope,
            )
        for name in [
            side.name for step in self.steps for side in step.sides if side not in self.sides
        ]:
            refuse(
                "steps",
                name,
                "two tables beside the stream have this name",
                "Declare one table once, or give each another name",
            )
        several.refuse_taken(self.steps, self.inputs, self.more_topics)
        output_mode.refuse_impossible(self.output_mode, self.steps)
        self._refuse_provider()
        self._refuse_unknown_columns("output_checks", self.output_checks, columns)
        metrics = (*STATE_METRICS, *self.own_metrics)
        self._refuse_unknown_columns("state_checks", self.state_checks, metrics)
        self._refuse_conditions()
        self._refuse_raw_bytes()
        self._refuse_ranges(columns)
        self.layout.refuse_personal(self._personal())
        self.layout.refuse_unfit(columns, types)
        for metric in self.state_checks_off:
            if metric not in STATE_METRICS:
                refuse(
                    "state_checks_off",
                    metric,
                    "it is not a state metric",
                    f"Use one of {', '.join(STATE_METRICS)}",
                )
            if metric in ("unaccounted", "groups_unaccounted", "state_rows"):
                refuse(
                    "state_checks_off",
                    metric,
                    "you cannot disable this check",
                    "Remove it from the list",
                )
        return self

    def _refuse_unserved(self) -> None:
        asked = {
            "reader_options": self.reader_options,
            "publish_at": self.publish_at,
            "schedule.when_data": self.schedule.when_data,
            "topics": self.topics if self.is_several else (),
        }
        for each in self.topic.inputs:
            each.refuse_asked(asked)
        if self.publish_at is not None:
            self.publish_at.refuse_topics(self.topic.inputs, self.more_topics)

    def _personal(self) -> set[str]:
        """The output's columns that are a personal field, by its name or another."""
        personal, time = self.inputs.personal, cast("str | None", self.inputs.event_time)
        origins: Origins = {name: (Origin(name, "identity"),) for name in self.inputs.columns}
        for step in self.steps:
            origins, time = step.origins_after(origins, time), step.time_after(time)
        same = {Origin(name, "identity") for name in personal}
        return {*personal} | {name for name, of in origins.items() if same.intersection(of)}

    def _refuse_keys(self, step: Step, types: dict[str, str]) -> None:
        keys = step.state_key(tuple(types)) if step.stateful else ()
        if maps := [key for key in keys or () if "map<" in types.get(key, "")]:
            refuse(
                f"{step.kind}.keys",
                maps,
                "Spark compares no maps",
                "Use other keys, or take parts of the map in a Transform",
            )

    def _refuse_ranges(self, columns: Columns) -> None:
        by, context = self.ranges.by, self.ranges.context
        if by is not None and columns is not None and by not in columns:
            refuse("ranges.by", by, "the output has no such column", one_of([by], columns))
        if context is not None and not any(
            step.by_code or isinstance(step.grouping_window, Session) for step in self.steps
        ):
            refuse(
                "ranges.context",
                str(context),
                "Sluice derives it from the steps, where none is a GroupState or makes sessions",
                "Leave it out",
            )

    def _refuse_without_time(self, index: int) -> None:
        before = next(step for step in reversed(self.steps[:index]) if step.time_after("") is None)
        if before.unfollowed:
            refuse("steps", self.steps[index].kind, *before.unfollowed)
        refuse(
            "steps",
            self.steps[index].kind,
            f"rows that leave {before.kind} have no event time for a later stateful step",
            f"Give the {before.kind} an event_time, or put it last",
        )

    def _refuse_provider(self) -> None:
        needing = [step.kind for step in self.steps if step.needs_rocksdb]
        if self.state.provider != "rocksdb" and needing:
            refuse(
                "state.provider",
                self.state.provider,
                f"Sluice runs this {needing[0]} only on RocksDB",
                "Use provider='rocksdb'; a GroupState with form='apply' runs on both",
            )

    def _refuse_close_after(self) -> None:
        if self.close_after is not None and self.watermark_delay is None:
            refuse(
                "close_after",
                str(self.close_after),
                "it moves the watermark, and the pipeline has none",
                "Set watermark_delay too",
            )

    @property
    def inputs(self) -> Topics:
        """What it reads, by their numbers: one topic, for most."""
        return Topics(self.topic.inputs, named=isinstance(self.topic, Several))

    @property
    def is_several(self) -> bool:
        """Whether it reads several topics, or may."""
        return len(self.inputs) > 1 or self.more_topics is not None

    def with_topics(self, names: Iterable[str]) -> Self:
        """The same with these topics, and behind them what it lists besides: each as it is listed,
        or as `more_topics` says. One of neither is left out, as one that was listed and is no more.
        Raises SpecInvalid for too many.
        """
        if self.more_topics is None:
            return self
        listed = {each.name: each for each in self.topics}
        more = self.more_topics
        kept = (name for name in names if name in listed or more.among([name]))
        order = dict.fromkeys([*kept, *listed])
        topics = tuple(listed.get(name) or more.topic(name) for name in order)
        given = {name: getattr(self, name) for name in self.model_fields_set}
        return type(self)(**given | {"topics": topics, "topic": None})

    def _refuse_more_topics(self) -> None:
        if self.more_topics is None:
            return
        if not self.topics:
            refuse("topics", self.topics, "more_topics come behind these", "List one at least")
        like = self.more_topics.like.model_copy(update={"name": "more_topics.like"})
        Several.of((self.topics[0], like))

    def _refuse_silence(self) -> None:
        if self.silent_after is None:
            return
        positive("silent_after", self.silent_after)
        if self.watermark_delay is None or not self.is_several:
            refuse(
                "silent_after",
                str(self.silent_after),
                "it is about topics that hold one watermark back",
                "Set topics and watermark_delay too, or leave it out",
            )

    def _refuse_unknown_columns(
        self, field: str, checks: tuple[Check, ...], columns: Columns
    ) -> None:
        for check in checks:
            unknown = [
                name for name in check.columns if columns is not None and name not in columns
            ]
            if columns is not None and unknown:
                refuse(
                    f"{field}: {check.type}",
                    unknown,
                    "there is no such column",
                    one_of(unknown, columns),
                )

    def _refuse_conditions(self) -> None:
        for check in self.state_checks:
            if CONDITION in check.kwargs:
                refuse(
                    f"state_checks: {check.type}",
                    check.kwargs[CONDITION],
                    "the state metrics are one row, which a condition would leave out",
                    f"Leave out {CONDITION}",
                )

    def _refuse_raw_bytes(self) -> None:
        for number, step in enumerate(self.before_state, 1):
            for sql in step.sql_texts:
                if raw_bytes_in(sql.text):
                    refuse(
                        f"step {number} ({step.kind}): {sql.field}", sql.text, NO_RAW, NO_RAW_WAY
                    )

    def _refuse_watermark(self) -> None:
        unbounded = output_mode.unbounded(self.output_mode, self.steps)
        by_time = [
            step.kind for step in self.steps if step.stateful and step.evicted_by == "watermark"
        ]
        evicted = [kind for kind in by_time if kind not in unbounded]
        if evicted and self.watermark_delay is None:
            refuse(
                "watermark_delay",
                None,
                f"only a watermark evicts the state of {evicted[0]}; without one it grows for ever",
                "Set how long to wait for out-of-order events, for example watermark_delay='2 "
                "hours'",
            )
        if unbounded and self.state.budget_rows is None:
            refuse(
                "state.budget_rows",
                None,
                f"nothing evicts the state of {unbounded[0]}",
                "Set the most rows of state that you allow, or use a step that the watermark "
                "evicts",
            )
        if self.watermark_delay is not None and self.watermark_delay <= timedelta():
            refuse(
                "watermark_delay",
                str(self.watermark_delay),
                "Spark then drops rows whose time equals the newest one seen",
                "Wait for at least a second; minutes or hours are usual",
            )

    @property
    def is_archive(self) -> bool:
        """Whether its output is the record itself (registry/archive_spec.py)."""
        return False

    @property
    def reads_headers(self) -> bool:
        """Whether Kafka's headers are read, and kept of rejected records."""
        return self.inputs.reads_headers

    @property
    def keeps_state(self) -> bool:
        """Whether any step does."""
        return self.entry is not None

    @property
    def keyed(self) -> Following | None:
        """The step that makes the table follow a key, if there is one. It is the last one."""
        follows = self.steps and self.steps[-1].follows
        return cast("Following", self.steps[-1]) if follows else None

    @property
    def first_stateful(self) -> int:
        """The index of the first step that keeps state, or follows a key; len(steps) where none
        does.
        """
        return len(self.before_state)

    @property
    def before_state(self) -> tuple[Step, ...]:
        """The steps before that one. Each of their rows is still one record."""
        return tuple(takewhile(lambda step: not step.remembers, self.steps))

    @property
    def own_metrics(self) -> tuple[str, ...]:
        """The state metrics beside STATE_METRICS: of its rules, and of dimensions."""
        of_dimensions = (f"{UNMATCHED}{name}" for name in self.looked_up)
        return (*rule_metrics(self.inputs.rules), *of_dimensions)

    @property
    def looked_up(self) -> dict[str, Counter[str]]:
        """See steps/unmatched.py."""
        return looked_up(self.steps, len(self.before_state), keyed=bool(self.keyed))

    @property
    def sides(self) -> tuple[SideTable, ...]:
        """The tables beside the stream that its steps read, and those that its topics are; each
        once.
        """
        of_steps = (side for step in self.steps for side in step.sides)
        of_topics = (side for topic in self.topic.inputs for side in topic.beside)
        return tuple({side.name: side for side in (*of_topics, *of_steps)}.values())

    @property
    def entry(self) -> Step | None:
        """The first stateful step, which drops late records. None where no step keeps state."""
        return next((step for step in self.steps if step.stateful), None)

    @property
    def endless(self) -> bool:
        """Whether Spark alone would never end an availableNow run: a step uses processing-time
        timers or TTL.
        """
        return any(step.endless for step in self.steps)
