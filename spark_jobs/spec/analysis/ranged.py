"""Ranged: which ranges of a pipeline's output can be computed again, and from which records.

docs/repairs.md has the table of what can be ranged, and why the rest cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from spark_jobs.errors import RangeUnsupported
from spark_jobs.spec import Pipeline, Session
from spark_jobs.spec.analysis.lateness import keeps_time
from spark_jobs.spec.output_mode import mode_facts
from spark_jobs.spec.steps.step import Step
from spark_jobs.values.own_columns import DELETED
from spark_jobs.values.spans import (
    FIRST,
    LAST,
    MICROSECOND,
    Position,
    Span,
    SpanSql,
    Times,
    joined,
    microseconds,
)

BY_KEY: Final = Position(DELETED)
"""Of a table that follows a key: its rows have no place in time, so all of them are one range."""


class Ranged(NamedTuple):
    """A pipeline of whose output ranges can be computed. All spans are of positions."""

    spec: Pipeline
    position: Position

    @property
    def whole(self) -> bool:
        """Whether a repair computes all rows of a range. Of a table that follows a key it may
        compute some keys alone.
        """
        return self.spec.keyed is None

    def needed(self, span: Span) -> Span:
        """The event times of the records on which the rows within `span` depend, of any input."""
        return covering(self.needed_of(span, each) for each in inputs_apart(self.spec))

    def needed_of(self, span: Span, of_input: str) -> Span:
        """The same of one input's records."""
        delay = self.spec.watermark_delay or timedelta()
        for step in reversed(self.spec.steps):
            if span.empty:  # no row ends in it
                break
            span = step.needed(span, delay, self.spec.ranges, of_input)
        return span

    def apart(self, spans: Sequence[Span]) -> dict[int, tuple[Span, ...]]:
        """Number of an input -> the event times of its records on which these rows depend; empty if
        no step takes inputs apart.
        """
        inputs = inputs_apart(self.spec)
        if len(inputs) == 1:
            return {}
        return {
            number: joined(self.needed_of(span, each) for span in spans)
            for number, each in enumerate(inputs)
        }

    def touched(
        self, event_time: datetime, missed: datetime | None = None, partition: int | None = None
    ) -> Span:
        """The positions of the rows that a record of this time may change; `partition`: where it
        is, None for one that may be anywhere.

        `missed` is the watermark behind which it was late. In sliding windows it is in those that
        were open then. Nothing for a time of which there is no range.
        """
        if not FIRST <= event_time < LAST:
            return Span(event_time, event_time)
        inputs = inputs_apart(self.spec)
        if partition is not None and len(inputs) > 1:
            inputs = (self.spec.inputs.of_partition(partition).name,)
        span = Span(event_time, event_time + MICROSECOND)

        def cut(found: Span) -> Span:
            return found if missed is None else found.cut(missed)

        return covering(self._touched(span, cut, each) for each in inputs)

    def touched_sql(self, event_time: str, missed: str, partition: str = '"partition"') -> SpanSql:
        """What `touched` returns, as SQL expressions; so are both times, in microseconds, and the
        partition.
        """
        span = SpanSql.at(event_time)
        found = [
            self._touched(span, lambda of: of.cut(missed), each) for each in inputs_apart(self.spec)
        ]
        return SpanSql.of_inputs(found, partition).where(
            f"{event_time} >= {microseconds(FIRST)} AND {event_time} < {microseconds(LAST)}",
            event_time,
        )

    def _touched(self, span: Times, cut: Callable[[Times], Times], of_input: str) -> Times:
        """`cut` leaves out the windows that were open at the watermark which the record missed."""
        for step in self.spec.steps:
            span = step.touched(span, self.spec.ranges, of_input)
            if step is self.spec.entry and step.grouping_window:
                span = cut(span)
        return span

    def rows_of(self, touched: Times) -> Times:
        """`touched`, from its first row on: a window's row is at the window's last instant, and the
        span begins with the window.
        """
        if sessions(self.spec):
            return touched
        for step in reversed(self.spec.steps):
            if self.position.edge == "end" and step.grouping_window:
                begins = step.grouping_window.first_end_after or timedelta()
                return touched.later(begins - MICROSECOND)
        return touched

    def closed_until(self, watermark: datetime | None) -> datetime | None:
        """No drain writes a row before this position any more, if this is the watermark of its
        last committed batch; None if nothing says so yet.

        Without a stateful step nothing is ever late: the answer is the end of time.
        """
        entry = self.spec.entry
        if entry is None:
            return datetime.max.replace(tzinfo=UTC)
        if watermark is None:
            return None
        after = (step.settled_after(self.spec.ranges) for step in self.spec.steps)
        if waits := [each for each in after if each is not None]:
            return watermark - max(waits)
        # Of rows Spark drops those at the watermark too; a window is open until its end is at it.
        return watermark if self.position.edge == "end" else watermark + MICROSECOND


def inputs_apart(spec: Pipeline) -> tuple[str, ...]:
    """The names of the inputs that a step takes apart, so that their records touch other rows; else
    one name stands for all.
    """
    names = tuple(each.name for each in spec.inputs)
    return names if any(step.takes for step in spec.steps) else names[:1]


def covering(spans: Iterable[Span]) -> Span:
    """From the first start to the last end; at least one is given."""
    starts, ends = zip(*spans, strict=True)
    return Span(min(starts), max(ends))


def ranged(spec: Pipeline) -> Ranged:
    """The pipeline as one with ranges. Raises RangeUnsupported with the reason and the way out."""
    why, position = unranged(spec), position_of(spec)
    if why is None and position is not None:
        return Ranged(spec, position)
    if spec.is_archive:
        raise RangeUnsupported.of_an_archive(pipeline=spec.name, why=why)
    raise RangeUnsupported.not_by_itself(pipeline=spec.name, why=why)


def mended(spec: Pipeline) -> Ranged:
    """Where the rows are that a repair finds by itself. Of a table that follows a key those that a
    newer version of a table beside the stream makes otherwise: at the times of their changes.
    Raises RangeUnsupported.
    """
    if spec.keyed is None or not spec.sides:
        return ranged(spec)
    return Ranged(spec, Position(spec.inputs.event_time))


def unmended(spec: Pipeline) -> str | None:
    """Why a repair finds nothing by itself; None if it may."""
    return None if spec.keyed is not None and spec.sides else unranged(spec)


def unranged(spec: Pipeline) -> str | None:
    """Why no range of its output can be computed by itself; None if one can."""
    if spec.entry and mode_facts(spec.output_mode).replaces_table:
        return "in complete mode the next drain writes the whole result from its state"
    if not keeps_time(spec):
        return (
            "a Transform with sql or a function before the first stateful step may change the "
            "event time, by which the index finds records"
        )
    for step in spec.steps:
        if why := step.unranged(spec.ranges):
            return why
        if step.balance.several_per_key and mode_facts(spec.output_mode).writes_last_of_key:
            return f"in update mode a {type(step).__name__} has one row a key, its last"
    if why := _unranged_sessions(spec):
        return why
    return None if position_of(spec) and not spec.is_archive else _without_position(spec)


def sessions(spec: Pipeline) -> Step | None:
    """The last step, if it makes sessions. A range is then one of whole sessions, as one
    computation over all good records makes them: those that end in it. The rows that they replace
    are found by key, and may have ended before it.
    """
    last = spec.steps[-1] if spec.steps else None
    return last if last and isinstance(last.grouping_window, Session) else None


def _unranged_sessions(spec: Pipeline) -> str | None:
    """Sessions are replaced by key, so the table must have them as they are."""
    if not any(isinstance(each.grouping_window, Session) for each in spec.steps):
        return None
    if sessions(spec) is None:
        return (
            "a step behind its sessions changes or hides some of them, and sessions are replaced "
            "by the keys and times that the table has of them"
        )
    if not all(each.grouping_keys is None for each in spec.steps[:-1]):
        return "its sessions are of rows that an Aggregate or a GroupState made, not of records"
    if spec.ranges.by not in {None, "window_end"}:
        return f"a session is placed by its end, and ranges.by is {spec.ranges.by!r}"
    return None


def _without_position(spec: Pipeline) -> str:
    if spec.is_archive:
        return "an archive has the records themselves, and computes nothing"
    return (
        "only you know which column has the time of the rows behind its last step: declare "
        "ranges=Ranges(by=...)"
    )


def position_of(spec: Pipeline) -> Position | None:
    """Where an output row is on the axis of event time; None if nothing says so."""
    if spec.ranges.by is not None:
        return Position(spec.ranges.by, "end" if spec.ranges.by == "window_end" else "instant")
    found: Position | None = Position(spec.inputs.event_time)
    for step in spec.steps[: spec.first_stateful]:
        found = step.position_after(found, spec.ranges) or found  # it keeps the event time
    for step in spec.steps[spec.first_stateful :]:
        found = step.position_after(found, spec.ranges)
    return found


def needed(spec: Pipeline) -> Callable[[Span], Span]:
    """What a span needs of the records; the span itself where the spec has no ranges any more: a
    repair from when it had may be taken back.
    """
    return (lambda span: span) if unranged(spec) else ranged(spec).needed
