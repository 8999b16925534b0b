"""GroupState with a processor of these tests, and what it must give."""

import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import ModuleType
from typing import Any, ClassVar

from spark_jobs.spec import Deduplicate, Field, GroupState, Pipeline, State
from spark_jobs.spec.steps.step import Step
from tests.spark.properties import running_totals
from tests.spark.properties.events import Event
from tests.spark.properties.forms import Row, first_of_each, pipeline
from tests.spark.properties.replay import Seen

STEP = GroupState(
    processor="RunningTotals",
    keys=("key",),
    output=(
        Field(name="key", type="string", required=False),
        Field(name="event_id", type="string"),
        Field(name="at", type="timestamp"),
        Field(name="number", type="bigint"),
        Field(name="total", type="bigint"),
    ),
)


@dataclass(frozen=True)
class OfProcessor:
    """A GroupState with a processor of these tests, alone or after a Deduplicate by event_id."""

    deduplicated: bool = False
    name: ClassVar[str]
    logic: ClassVar[ModuleType]
    step: ClassVar[GroupState]
    more: ClassVar[dict[str, Any]] = {}

    def __str__(self) -> str:
        return self.name.replace("_", " ") + (" of event_ids" if self.deduplicated else "")

    @property
    def deduplicate(self) -> Deduplicate | None:
        return Deduplicate(keys=("event_id",)) if self.deduplicated else None

    def spec(self, delay: timedelta, state: State) -> Pipeline:
        # A pipeline's logic.py is looked for in its folder. These tests have none, and no pipeline
        # of theirs should be there.
        sys.modules[f"spark_jobs.pipelines.{self.name}.logic"] = self.logic
        steps: tuple[Step, ...] = (self.step,)
        if self.deduplicate:
            steps = (self.deduplicate, self.step)
        # Spark runs it on RocksDB only.
        state = state.model_copy(update={"provider": "rocksdb"})
        return pipeline(self.name, steps, watermark_delay=delay, state=state, **self.more)

    @property
    def one_time_an_id(self) -> bool:
        return self.deduplicated

    def enters(self, _event: Event) -> bool:
        return True

    def late(self, event: Event, judged_by_us: int) -> bool:
        return event.at_us <= judged_by_us

    def duplicates(self, seen: Sequence[Seen]) -> int:
        return sum(one.missed_us is None for one in seen) - len(self._reached(seen))

    def put_back(self, *_: object) -> None:
        """Every later number, or one of the hour after each, would change."""

    def _reached(self, seen: Sequence[Seen]) -> list[Seen]:
        accepted = [one for one in seen if one.missed_us is None]
        return first_of_each(seen, ("event_id",)) if self.deduplicated else accepted


@dataclass(frozen=True)
class Totals(OfProcessor):
    """RunningTotals."""

    name = "running_totals"
    logic = running_totals
    step = STEP

    def rows(self, seen: Sequence[Seen], watermark_us: int) -> list[Row]:
        by_key: dict[str | None, list[Event]] = defaultdict(list)
        for one in self._reached(seen):
            by_key[one.event.key].append(one.event)
        rows = []
        for key, events in by_key.items():
            total = 0
            ordered = sorted(
                events,
                key=lambda event: running_totals.order(event.at_us, event.event_id, event.value),
            )
            for number, event in enumerate(
                (event for event in ordered if event.at_us <= watermark_us), 1
            ):
                total += event.value or 0
                rows.append(
                    {
                        "key": key,
                        "event_id": event.event_id,
                        "at": event.event_time,
                        "number": number,
                        "total": total,
                    }
                )
        return rows

    def still_waiting(self, seen: Sequence[Seen], watermark_us: int) -> int:
        """How many events Spark must still hold."""
        return sum(one.event.at_us > watermark_us for one in self._reached(seen))
