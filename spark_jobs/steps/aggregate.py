"""Aggregate in Spark: groupBy, over a window of the event time where there is one."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple, assert_never

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.contract.duration import interval
from spark_jobs.contract.output_mode import OutputMode, keeps_all_state
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Aggregate
from spark_jobs.contract.windows import Session, Sliding, Tumbling, Window
from spark_jobs.steps.operator import NO_PREDICATE, Place


class AggregateOperator(NamedTuple):
    """Spark drops and evicts whole groups, by the end of their window (StateStoreSaveExec)."""

    step: Aggregate

    def apply(self, rows: DataFrame, place: Place) -> DataFrame:
        """The groups, as `grouped` gives them."""
        return grouped(rows, self.step, place.event_time)

    def counts(self) -> list[Column]:
        """counted bigint: the records in the groups, where a measure counts them."""
        return [F.sum(self.step.counts).alias("counted")] if self.step.counts else []

    def is_late(self, event_time: str, late_before: Column, output_mode: OutputMode) -> Column:
        """A row is late when a window of its own had closed: Spark compares the window's end with the watermark.

        In sliding windows it may be late for the first of its windows only; ops.late has the watermark that tells for which:
        those that end at or before it. In complete mode Spark keeps all groups, but drops rows from sessions all the same.
        """
        window = self.step.window
        if keeps_all_state(output_mode) and not isinstance(window, Session):
            return F.lit(False)
        match window:
            case None:
                return F.lit(False)
            case Tumbling():
                return _first_end(event_time, window.size, window.size) <= late_before
            case Sliding():
                return _first_end(event_time, window.size, window.slide) <= late_before
            case Session():
                # By the session that the row alone would make, in every output mode (SessionWindowStateStoreRestoreExec).
                # Behind a Deduplicate, which drops what is at or before the watermark, none is left to drop.
                return F.col(event_time) + _gap(window) <= late_before
            case _:
                assert_never(window)

    def state(self) -> str:
        group = ", ".join(self.step.group) or "the same for all rows"
        return f"the key is {group}; the value has a buffer each for {', '.join(self.step.measures)}"

    def predicates(self) -> str:
        return "watermark predicate on the key, for late rows and for eviction" if self.step.window else NO_PREDICATE

    def eviction(self, _: Pipeline) -> str:
        return "evicted when the watermark has passed the window's end"


def grouped(rows: DataFrame, step: Aggregate, event_time: str) -> DataFrame:
    """Columns: window_start and window_end timestamp where there is a window, the keys, the measures; one row a group.

    Where the step names one, also its event time: the window's last instant (Spark's window_time).
    """
    measures = [F.expr(sql).alias(name) for name, sql in step.measures.items()]
    if step.window is None:
        return rows.groupBy(*step.keys).agg(*measures)
    groups = rows.groupBy(_window(step.window, event_time).alias("window"), *step.keys).agg(*measures)
    bounds = [F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end")]
    last = [F.window_time("window").alias(step.event_time)] if step.event_time else []
    return groups.select(*bounds, *step.keys, *step.measures, *last)


def _window(window: Window, event_time: str) -> Column:
    match window:
        case Tumbling():
            return F.window(event_time, interval(window.size))
        case Sliding():
            return F.window(event_time, interval(window.size), interval(window.slide))
        case Session():
            return F.session_window(
                event_time, _own_gap(window.gap_sql, event_time) if window.gap_sql else interval(window.gap or timedelta()))
        case _:
            assert_never(window)


def _own_gap(sql: str, event_time: str) -> Column:
    """A row's own gap. A row whose gap is null, zero or negative Spark leaves out in silence (SessionWindowing); this fails."""
    own = f"CAST({sql} AS INTERVAL)"
    none = "CAST(raise_error('gap_sql gave a row no gap, or one that is not positive') AS INTERVAL)"
    return F.expr(f"CASE WHEN `{event_time}` + {own} > `{event_time}` THEN {own} ELSE {none} END")


def _gap(window: Session) -> Column:
    # Spark takes a row's own gap as an interval or as its text, and casts alike (SessionWindowing).
    own = f"CAST({window.gap_sql} AS INTERVAL)"
    return F.expr(own if window.gap_sql else f"INTERVAL {interval(window.gap or timedelta())}")


def _first_end(event_time: str, size: timedelta, slide: timedelta) -> Column:
    """The end of the first window that holds the row: the first multiple of `slide`, plus `size`, after the event time."""
    long, step = (duration // timedelta(microseconds=1) for duration in (size, slide))
    from_size = F.unix_micros(F.col(event_time)) - F.lit(long)
    return F.timestamp_micros(from_size - F.pmod(from_size, F.lit(step)) + F.lit(step + long))
