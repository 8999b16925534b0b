"""GroupState whose rows depend on the hour before them, and what it must give."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from spark_jobs.spec import Deduplicate, GroupState, Pipeline, Ranges, State
from spark_jobs.spec.steps.union import Step
from tests.harness.moments import at, us
from tests.harness.replay import Place
from tests.spark.properties import recent_events
from tests.spark.properties.events import Event
from tests.spark.properties.forms import Row, first_of_each, pipeline
from tests.spark.properties.group_form import STEP
from tests.spark.properties.recent_events import HOUR_US
from tests.spark.properties.replay import Seen


@dataclass(frozen=True)
class Recent:
    """RecentEvents, alone or after a Deduplicate by event_id."""

    deduplicated: bool = False

    def __str__(self) -> str:
        return f"recent events{' of event_ids' if self.deduplicated else ''}"

    @property
    def deduplicate(self) -> Deduplicate | None:
        return Deduplicate(keys=("event_id",)) if self.deduplicated else None

    def spec(self, delay: timedelta, state: State) -> Pipeline:
        # As group_form.py: there is no such folder.
        sys.modules["spark_jobs.pipelines.recent_events.logic"] = recent_events
        step = GroupState(processor="RecentEvents", keys=STEP.keys, output=STEP.output)
        steps: tuple[Step, ...] = (self.deduplicate, step) if self.deduplicate else (step,)
        return pipeline(
            "recent_events",
            steps,
            watermark_delay=delay,
            state=state.model_copy(update={"provider": "rocksdb"}),
            ranges=Ranges(by="at", context=timedelta(hours=1)),
        )

    @property
    def one_time_an_id(self) -> bool:
        return self.deduplicated

    def enters(self, _event: Event) -> bool:
        return True

    def late(self, event: Event, judged_by_us: int) -> bool:
        return event.at_us <= judged_by_us

    def rows(self, seen: Sequence[Seen], watermark_us: int) -> list[Row]:
        events = [one.event for one in self._reached(seen)]
        rows = []
        for event in events:
            if event.at_us <= watermark_us:
                recent = [
                    other.value or 0
                    for other in events
                    if other.key == event.key and event.at_us - HOUR_US < other.at_us <= event.at_us
                ]
                row = {"key": event.key, "event_id": event.event_id, "at": at(event.at_us)}
                rows.append(row | {"number": len(recent), "total": sum(recent)})
        return rows

    def duplicates(self, seen: Sequence[Seen]) -> int:
        return sum(one.missed_us is None for one in seen) - len(self._reached(seen))

    def put_back(
        self,
        _table: list[Row],
        _accepted: Sequence[Seen],
        _late: Sequence[Seen],
        _watermark_us: int,
    ) -> None:
        """Numbers of the hour after each would change."""

    def touches(self, event: Event, _missed_us: int) -> tuple[int, int]:
        return event.at_us, event.at_us + HOUR_US

    def until_us(self, watermark_us: int) -> int:
        return watermark_us

    def position_us(self, row: Row) -> int:
        return us(row["at"])

    def kept(self, seen: Sequence[Seen]) -> set[Place]:
        return {one.place for one in self._reached(seen)}

    def _reached(self, seen: Sequence[Seen]) -> list[Seen]:
        accepted = [one for one in seen if one.missed_us is None]
        return first_of_each(seen, ("event_id",)) if self.deduplicated else accepted
