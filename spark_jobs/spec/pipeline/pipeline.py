"""Pipeline: one computation, from topics to a table."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Literal, Self, cast

from pydantic import Field as Described, InstanceOf, SerializeAsAny, model_validator

from spark_jobs.spec import several
from spark_jobs.spec.checks.check import Check
from spark_jobs.spec.checks.rule import rule_metrics
from spark_jobs.spec.checks.unmatched_share import PREFIX as UNMATCHED
from spark_jobs.spec.duration import Duration
from spark_jobs.spec.inputs import Topics
from spark_jobs.spec.model import OF_A_VARIABLE, Model, refuse
from spark_jobs.spec.output_mode import OutputMode
from spark_jobs.spec.pipeline.impossible import refuse_impossible
from spark_jobs.spec.pipeline.schedule import Schedule
from spark_jobs.spec.pipeline.state import State
from spark_jobs.spec.publish_at import PublishAt
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.reader_options import ReaderOptions
from spark_jobs.spec.several import MoreTopics, Several
from spark_jobs.spec.side import SideTable
from spark_jobs.spec.spark_options import SparkOptions
from spark_jobs.spec.steps.step import Step
from spark_jobs.spec.table.layout import Layout
from spark_jobs.spec.topic import Name, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spark_jobs.spec.steps.following import Following


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
        refuse_impossible(self)
        return self

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
        """See looked_up below."""
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


ENTERED: Final = ("accepted", "late")
WRITTEN: Final = ("rows_out",)


def looked_up(steps: Sequence[Step], entering: int, *, keyed: bool) -> dict[str, Counter[str]]:
    """Dimension -> the counts of an account (messages/report.py) whose sum is how many rows were
    looked up in it, each as often as it is to be added.

    `entering` steps are before the state; `keyed` rows are merged by key. Without dimensions where
    no count tells: a later step may drop rows, or a record without a row is malformed.
    """
    found: dict[str, Counter[str]] = {}
    untold = set[str]()
    for at, step in enumerate(steps):
        of = ENTERED if at < entering else WRITTEN
        alone = at < entering or not (keyed or any(map(_may_drop, steps[at + 1 :])))
        for name in (side.name for side in step.sides):
            if step.rejects or not (step.found_by(name) and alone):
                untold.add(name)
            found.setdefault(name, Counter()).update(of)
    return {name: counts for name, counts in found.items() if name not in untold}


def _may_drop(step: Step) -> bool:
    return not step.sides or not all(step.found_by(side.name) for side in step.sides)
