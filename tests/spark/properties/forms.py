"""What a form of an operator is: plain Python over what was seen, no Spark, no Sluice."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, Protocol

from spark_jobs.spec import Deduplicate, Pipeline, State
from spark_jobs.spec.steps.step import Step
from tests.spark.properties.events import TOPIC, Event
from tests.spark.properties.replay import Seen

Row = dict[str, Any]


class Form(Protocol):
    """A pipeline and its meaning."""

    def spec(self, delay: timedelta, state: State) -> Pipeline: ...

    @property
    def deduplicate(self) -> Deduplicate | None:
        """Its first step, where that is one."""
        ...

    @property
    def one_time_an_id(self) -> bool:
        """Whether records of one event_id are one event to it: they must then say the same time."""
        ...

    def enters(self, event: Event) -> bool:
        """Whether the steps before the first stateful one let it through."""
        ...

    def late(self, event: Event, judged_by_us: int) -> bool:
        """Whether it is late for the first stateful step."""
        ...

    def rows(self, seen: Sequence[Seen], watermark_us: int) -> list[Row]:
        """What the table must hold under that watermark."""
        ...

    def duplicates(self, seen: Sequence[Seen]) -> int:
        """How many accepted records the first step drops as known."""
        ...

    def put_back(self, table, accepted, late, watermark_us) -> list[Row] | None:
        """The table with the late records put back; None where rows do not tell how (sessions)."""
        ...


def keys_of(step: Deduplicate) -> tuple[str, ...]:
    """The columns in which two records of one event are equal."""
    return TOPIC.columns if step.whole_row else step.keys


def first_of_each(seen: Iterable[Seen], keys: tuple[str, ...]) -> list[Seen]:
    """The first accepted record of each key; offsets tell the order, as ids keep a partition."""
    first: dict[tuple[object, ...], Seen] = {}
    for one in sorted(seen):
        if one.missed_us is None:
            first.setdefault(tuple(getattr(one.event, key) for key in keys), one)
    return list(first.values())


def pipeline(name: str, steps: tuple[Step, ...], **given: Any) -> Pipeline:
    """A pipeline over generated events."""
    return Pipeline(name=name, about="generated", topic=TOPIC, steps=steps, **given)
