"""Aggregate in Spark: groupBy, with an optional window over the event time."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, assert_never

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.spec import Aggregate, Pipeline, Session, Sliding, Tumbling
from spark_jobs.spec.duration import interval
from spark_jobs.spec.output_mode import OutputMode, mode_facts
from spark_jobs.spec.windows import Window
from spark_jobs.steps.catalyst import grouping_input
from spark_jobs.steps.operator import NO_PREDICATE, At, LateBy, StepContext
from spark_jobs.values.own_columns import WINDOW


class AggregateOperator(NamedTuple):
    """Spark drops and evicts each group as a whole, by the end of its window
    (StateStoreSaveExec).
    """

    step: Aggregate

    def apply(self, rows: DataFrame, context: StepContext) -> DataFrame:
        """The groups. Columns: see `grouped`."""
        return grouped(rows, self.step, context.event_time)

    def counts(self) -> list[Column]:
        """counted bigint: the number of records in the groups, if a measure counts them."""
        return [F.sum(self.step.counts).alias("counted")] if self.step.counts else []

    def late_by(self, output_mode: OutputMode) -> LateBy | None:
        """In complete mode Spark keeps all groups, but it still drops late rows from sessions."""
        if isinstance(self.step.window, Session):
            return "row"
        kept = self.step.window is None or mode_facts(output_mode).keeps_all_state
        return None if kept else "key"

    def is_late(self, event_time: str, late_before: Column) -> Column:
        """A row is late if one of its windows is closed: Spark compares the window's end with the
        watermark.

        In sliding windows a row may be late for some windows only: those that end at or before the
        watermark in ops.late.
        """
        window = self.step.window
        match window:
            case None:
                return F.lit(False)
            case Tumbling():
                return _first_window_end(event_time, window.size, window.size) <= late_before
            case Sliding():
                return _first_window_end(event_time, window.size, window.slide) <= late_before
            case Session():
                # Spark uses the session of the row alone, in every output mode
                # (SessionWindowStateStoreRestoreExec). After a Deduplicate no such row is left: it
                # drops rows at or before the watermark.
                return F.col(event_time) + _gap(window) <= late_before
            case _:
                assert_never(window)

    def row_part(self, rows: DataFrame, at: At) -> DataFrame:
        """The keys, the row's own gap and the arguments of the measures' aggregate functions.

        Not the measures themselves: `sum(a) / (count(*) - 1)` fails for each record alone, and for
        no group of two.
        """
        return grouping_input(grouped(rows, self.step, at.event_time))

    def state(self) -> str:
        group = ", ".join(self.step.group) or "empty, one group for all rows"
        return f"the key is {group}; the value has the buffers of {', '.join(self.step.measures)}"

    def predicates(self) -> str:
        return (
            "watermark predicate on the key, for late rows and for eviction"
            if self.step.window
            else NO_PREDICATE
        )

    def eviction(self, _: Pipeline) -> str:
        return "evicted when the watermark has passed the window's end"


def grouped(rows: DataFrame, step: Aggregate, event_time: str) -> DataFrame:
    """One row for each group.

    Columns: window_start and window_end timestamp if there is a window, the keys, the measures.

    If the step names an event time, also this column: the window's last instant (Spark's
    window_time).
    """
    measures = [F.expr(sql).alias(name) for name, sql in step.measures.items()]
    if step.window is None:
        return rows.groupBy(*step.keys).agg(*measures)
    groups = rows.groupBy(_window(step.window, event_time).alias(WINDOW), *step.keys).agg(*measures)
    bounds = [F.col(f"{WINDOW}.{edge}").alias(f"window_{edge}") for edge in ("start", "end")]
    last = [F.window_time(WINDOW).alias(step.event_time)] if step.event_time else []
    return groups.select(*bounds, *step.keys, *step.measures, *last)


def _window(window: Window, event_time: str) -> Column:
    match window:
        case Tumbling():
            return F.window(event_time, interval(window.size))
        case Sliding():
            return F.window(event_time, interval(window.size), interval(window.slide))
        case Session():
            return F.session_window(
                event_time,
                _row_gap(window.gap_sql, event_time)
                if window.gap_sql
                else interval(window.gap or timedelta()),
            )
        case _:
            assert_never(window)


def _row_gap(sql: str, event_time: str) -> Column:
    """The gap of a row.

    If it is null, zero or negative, Spark silently drops the row (SessionWindowing); this fails.
    """
    gap = f"CAST({sql} AS INTERVAL)"
    invalid = (
        "CAST(raise_error('gap_sql gave a row no gap, or one that is not positive') AS INTERVAL)"
    )
    return F.expr(
        f"CASE WHEN `{event_time}` + {gap} > `{event_time}` THEN {gap} ELSE {invalid} END"
    )


def _gap(window: Session) -> Column:
    # Spark accepts the gap as an interval or as text, and casts it in the same way
    # (SessionWindowing).
    if window.gap_sql:
        return F.expr(f"CAST({window.gap_sql} AS INTERVAL)")
    return F.expr(f"INTERVAL {interval(window.gap or timedelta())}")


def _first_window_end(event_time: str, size: timedelta, slide: timedelta) -> Column:
    """The end of the first window that contains the row: the first multiple of `slide`, plus
    `size`, after the event time.
    """
    size_us = size // timedelta(microseconds=1)
    slide_us = slide // timedelta(microseconds=1)
    from_size = F.unix_micros(F.col(event_time)) - F.lit(size_us)
    return F.timestamp_micros(
        from_size - F.pmod(from_size, F.lit(slide_us)) + F.lit(slide_us + size_us)
    )
