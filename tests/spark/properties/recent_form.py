"""GroupState whose rows depend on the hour before them, and what it must give."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from spark_jobs.spec import GroupState, Ranges
from tests.harness.moments import at, us
from tests.harness.replay import Place
from tests.spark.properties import recent_events
from tests.spark.properties.events import Event
from tests.spark.properties.forms import Row
from tests.spark.properties.group_form import STEP, OfProcessor
from tests.spark.properties.recent_events import HOUR_US
from tests.spark.properties.replay import Seen


@dataclass(frozen=True)
class Recent(OfProcessor):
    """RecentEvents."""

    name = "recent_events"
    logic = recent_events
    step = GroupState(processor="RecentEvents", keys=STEP.keys, output=STEP.output)
    more: ClassVar[dict[str, Any]] = {"ranges": Ranges(by="at", context=timedelta(hours=1))}

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

    def touches(self, event: Event, _missed_us: int) -> tuple[int, int]:
        return event.at_us, event.at_us + HOUR_US

    def until_us(self, watermark_us: int) -> int:
        return watermark_us

    def position_us(self, row: Row) -> int:
        return us(row["at"])

    def kept(self, seen: Sequence[Seen]) -> set[Place]:
        return {one.place for one in self._reached(seen)}
