"""The forms of Deduplicate alone, and what they must give."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from spark_jobs.spec import Deduplicate, Pipeline, State
from tests.harness.moments import us
from tests.harness.replay import Place
from tests.spark.properties.events import Event
from tests.spark.properties.forms import Row, first_of_each, keys_of, pipeline
from tests.spark.properties.replay import Seen


@dataclass(frozen=True)
class Deduplication:
    """Deduplicate alone."""

    step: Deduplicate

    def __str__(self) -> str:
        return f"by {' '.join(self.step.keys)}, {self.step.scope}"

    @property
    def deduplicate(self) -> Deduplicate:
        return self.step

    def spec(self, delay: timedelta, state: State) -> Pipeline:
        evicted = self.step.scope != "for_ever"
        return pipeline(
            "deduplicate", (self.step,), watermark_delay=delay if evicted else None, state=state
        )

    @property
    def one_time_an_id(self) -> bool:
        return self.step.scope == "watermark" and not self.step.whole_row

    def enters(self, _event: Event) -> bool:
        return True

    def late(self, event: Event, judged_by_us: int) -> bool:
        return self.step.scope != "for_ever" and event.at_us <= judged_by_us

    def rows(self, seen: Sequence[Seen], _watermark_us: int) -> list[Row]:
        return [one.event._asdict() for one in self._first(seen)]

    def duplicates(self, seen: Sequence[Seen]) -> int:
        return sum(one.missed_us is None for one in seen) - len(self._first(seen))

    def put_back(self, table, _accepted, late, _watermark_us) -> list[Row]:
        keys = keys_of(self.step)
        known = {tuple(row[key] for key in keys) for row in table}
        again = [
            one.event._asdict()
            for one in self._first([one._replace(missed_us=None) for one in late])
        ]
        return table + [row for row in again if tuple(row[key] for key in keys) not in known]

    def touches(self, event: Event, _missed_us: int) -> tuple[int, int]:
        return event.at_us, event.at_us + 1

    def until_us(self, watermark_us: int) -> int:
        return watermark_us + 1

    def position_us(self, row: Row) -> int:
        return us(row["event_time"])

    def kept(self, seen: Sequence[Seen]) -> set[Place]:
        return {one.place for one in self._first(seen)}

    def _first(self, seen: Sequence[Seen]) -> list[Seen]:
        return first_of_each(seen, keys_of(self.step))
