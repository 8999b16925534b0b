"""The forms of Aggregate, and what they must give."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from spark_jobs.spec import (
    Aggregate,
    Deduplicate,
    Pipeline,
    Ranges,
    Session,
    Sliding,
    State,
    Transform,
    Tumbling,
)
from spark_jobs.spec.output_mode import OutputMode
from spark_jobs.spec.steps.step import Step
from tests.harness.moments import MICROSECOND, at, us
from tests.harness.replay import Place
from tests.spark.properties.events import Event
from tests.spark.properties.forms import Row, first_of_each, pipeline
from tests.spark.properties.replay import Seen
from tests.spark.properties.windows import Window, around, gap_us, name

LONGEST = timedelta(hours=6)
"""No session of a sequence is longer."""
MEASURES = {
    "events": "count(*)",
    "valued": "count(value)",
    "total": "sum(value)",
    "least": "min(value)",
    "most": "max(value)",
}


@dataclass(frozen=True)
class Aggregation:
    """Aggregate, alone or after a Deduplicate, which judges lateness; perhaps a filter."""

    window: Window | None
    keys: tuple[str, ...] = ("key",)
    mode: OutputMode = "append"
    deduplicated: bool = False
    filtered: bool = False

    def __str__(self) -> str:
        return (
            f"{name(self.window)} by "
            f"{' '.join(self.keys) or 'nothing'}{', filtered' if self.filtered else ''}"
        )

    @property
    def deduplicate(self) -> Deduplicate | None:
        return Deduplicate(keys=("event_id",)) if self.deduplicated else None

    def spec(self, delay: timedelta, state: State) -> Pipeline:
        steps: tuple[Step, ...] = (
            Aggregate(window=self.window, keys=self.keys, measures=MEASURES, counts="events"),
        )
        steps = (self.deduplicate, *steps) if self.deduplicate else steps
        steps = (Transform(where="value >= 0"), *steps) if self.filtered else steps
        watched = delay if self.window else None
        by_key = isinstance(self.window, Session) and self.mode == "append"
        return pipeline(
            "aggregate",
            steps,
            output_mode=self.mode,
            watermark_delay=watched,
            state=state,
            ranges=Ranges(context=LONGEST if by_key else None),
        )

    @property
    def one_time_an_id(self) -> bool:
        return self.deduplicated

    def enters(self, event: Event) -> bool:
        return not self.filtered or (event.value is not None and event.value >= 0)

    def late(self, event: Event, judged_by_us: int) -> bool:
        if self.deduplicated:
            return event.at_us <= judged_by_us
        if isinstance(self.window, Session):
            return event.at_us + gap_us(event, self.window) <= judged_by_us
        if self.window is None or self.mode == "complete":
            return False
        return min(end for _, end in around(event, self.window)) <= judged_by_us

    def rows(self, seen: Sequence[Seen], watermark_us: int) -> list[Row]:
        groups = self.groups(seen)
        if self.window is None:
            return [self._row(group, values) for group, values in groups.items()]
        due = {
            group: values
            for group, values in groups.items()
            if self.mode != "append" or group[1] <= watermark_us
        }
        return [
            {"window_start": at(g[0]), "window_end": at(g[1])} | self._row(g[2:], values)
            for g, values in due.items()
        ]

    def still_open(self, seen: Sequence[Seen], watermark_us: int) -> list[int]:
        """How many events each group has that Spark must still hold."""
        kept = self.mode == "complete" or self.window is None
        return [
            len(values)
            for group, values in self.groups(seen).items()
            if kept or group[1] > watermark_us
        ]

    def duplicates(self, seen: Sequence[Seen]) -> int:
        accepted = sum(one.missed_us is None for one in seen)
        return accepted - len(first_of_each(seen, ("event_id",))) if self.deduplicated else 0

    def put_back(self, table, accepted, late, watermark_us) -> list[Row] | None:
        if self.window is None or isinstance(self.window, Session):
            return None
        known = {one.event.event_id for one in accepted} if self.deduplicated else set()
        back = [one._replace(missed_us=None) for one in late if one.event.event_id not in known]
        if self.deduplicated:
            return _merged(
                [*table, *self.rows(back, watermark_us)], ("window_start", "window_end", *self.keys)
            )
        rows = list(table)
        for one, again in zip(late, back, strict=True):
            # A record may have missed the first of its windows only, and be counted in the others.
            rows += [
                row
                for row in self.rows([again], watermark_us)
                if row["window_end"] <= at(one.missed_us or 0)
            ]
        return _merged(rows, ("window_start", "window_end", *self.keys))

    def groups(self, seen: Sequence[Seen]) -> dict[tuple[Any, ...], list[int | None]]:
        """Start and end of the window in microseconds where there is one, the keys -> values."""
        counted = first_of_each(seen, ("event_id",)) if self.deduplicated else list(seen)
        if isinstance(self.window, Session):
            return self._sessions([one for one in counted if one.missed_us is None])
        groups: dict[tuple[Any, ...], list[int | None]] = defaultdict(list)
        if self.window is None and not self.keys:
            groups[()] = []  # what SQL makes of no rows at all
        for _, event, missed_us in counted:
            key = tuple(getattr(event, name) for name in self.keys)
            for bounds in around(event, self.window) if self.window else [()]:
                if missed_us is None or bounds[1] > missed_us:
                    groups[*bounds, *key].append(event.value)
        return groups

    def touches(self, event: Event, missed_us: int) -> tuple[int, int]:
        """A record is in its windows that were open; one that a Deduplicate dropped is in none."""
        if isinstance(self.window, Session):
            return event.at_us - 1, event.at_us + LONGEST // MICROSECOND
        assert isinstance(self.window, Tumbling | Sliding)
        ends = [end for _, end in around(event, self.window)]
        lacking = ends if self.deduplicated else [end for end in ends if end <= missed_us]
        return min(lacking) - 1, max(lacking)

    def until_us(self, watermark_us: int) -> int:
        return watermark_us

    def position_us(self, row: Row) -> int:
        return us(row["window_end"]) - 1

    def kept(self, seen: Sequence[Seen]) -> set[Place]:
        counted = first_of_each(seen, ("event_id",)) if self.deduplicated else seen
        return {one.place for one in counted}

    def _sessions(self, counted: list[Seen]) -> dict[tuple[Any, ...], list[int | None]]:
        assert isinstance(self.window, Session)
        groups: dict[tuple[Any, ...], list[int | None]] = {}
        open_since: dict[tuple[Any, ...], tuple[int, int, list[int | None]]] = {}
        for event in sorted((one.event for one in counted), key=lambda event: event.at_us):
            key = tuple(getattr(event, name) for name in self.keys)
            start, end, values = open_since.get(key, (event.at_us, event.at_us, []))
            if event.at_us > end:
                groups[start, end, *key] = values
                start = event.at_us
                values = []
            open_since[key] = (
                start,
                max(end, event.at_us + gap_us(event, self.window)),
                [*values, event.value],
            )
        return groups | {
            (start, end, *key): values for key, (start, end, values) in open_since.items()
        }

    def _row(self, key: tuple[Any, ...], values: list[int | None]) -> Row:
        known = [value for value in values if value is not None]
        return dict(zip(self.keys, key, strict=True)) | {
            "events": len(values),
            "valued": len(known),
            "total": sum(known) if known else None,
            "least": min(known, default=None),
            "most": max(known, default=None),
        }


def _merged(tables: Sequence[Row], group: tuple[str, ...]) -> list[Row]:
    """Rows of one group put together: what late records put back make of a table of counts."""
    groups: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in tables:
        groups[tuple(row[name] for name in group)].append(row)
    found = []
    for key, rows in groups.items():
        known = {name: [row[name] for row in rows if row[name] is not None] for name in MEASURES}
        found.append(
            dict(zip(group, key, strict=True))
            | {
                "events": sum(known["events"]),
                "valued": sum(known["valued"]),
                "total": sum(known["total"]) if known["total"] else None,
                "least": min(known["least"], default=None),
                "most": max(known["most"], default=None),
            }
        )
    return found
