"""An Aggregate of an Aggregate: days made of hours, and what it must give."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from spark_jobs.spec import Aggregate, Deduplicate, Pipeline, State, Tumbling
from tests.harness.moments import at, us
from tests.harness.replay import Place
from tests.spark.properties.events import Event
from tests.spark.properties.forms import Row, pipeline
from tests.spark.properties.recent_events import HOUR_US
from tests.spark.properties.replay import Seen

DAY_US = 24 * HOUR_US


@dataclass(frozen=True)
class DaysOfHours:
    """How many hours of a day a key has events in, and how many events."""

    def __str__(self) -> str:
        return "days of hours"

    @property
    def deduplicate(self) -> Deduplicate | None:
        return None

    def spec(self, delay: timedelta, state: State) -> Pipeline:
        hours = Aggregate(
            window=Tumbling(size=timedelta(hours=1)),
            keys=("key",),
            measures={"events": "count(*)"},
            counts="events",
            event_time="hour_time",
        )
        days = Aggregate(
            window=Tumbling(size=timedelta(days=1)),
            keys=("key",),
            measures={"hours": "count(*)", "events": "sum(events)", "most": "max(events)"},
        )
        return pipeline("days_of_hours", (hours, days), watermark_delay=delay, state=state)

    @property
    def one_time_an_id(self) -> bool:
        return False

    def enters(self, _event: Event) -> bool:
        return True

    def late(self, event: Event, judged_by_us: int) -> bool:
        return _end(event.at_us, HOUR_US) <= judged_by_us

    def rows(self, seen: Sequence[Seen], watermark_us: int) -> list[Row]:
        hours: dict[tuple[str | None, int], int] = defaultdict(int)
        for one in seen:
            if one.missed_us is None:
                hours[one.event.key, _end(one.event.at_us, HOUR_US)] += 1
        days: dict[tuple[str | None, int], list[int]] = defaultdict(list)
        for (key, end_us), events in hours.items():
            days[key, _end(end_us - 1, DAY_US)].append(events)
        return [
            {
                "window_start": at(end_us - DAY_US),
                "window_end": at(end_us),
                "key": key,
                "hours": len(events),
                "events": sum(events),
                "most": max(events),
            }
            for (key, end_us), events in days.items()
            if end_us <= watermark_us
        ]

    def duplicates(self, _seen: Sequence[Seen]) -> int:
        return 0

    def put_back(self, *_: object) -> None:
        """How many hours had the key already, the day does not say."""

    def touches(self, event: Event, _missed_us: int) -> tuple[int, int]:
        end_us = _end(_end(event.at_us, HOUR_US) - 1, DAY_US)
        return end_us - 1, end_us

    def until_us(self, watermark_us: int) -> int:
        return watermark_us

    def position_us(self, row: Row) -> int:
        return us(row["window_end"]) - 1

    def kept(self, seen: Sequence[Seen]) -> set[Place]:
        return {one.place for one in seen}


def _end(at_us: int, size_us: int) -> int:
    """The end of the window of this size that holds the moment."""
    return at_us // size_us * size_us + size_us
