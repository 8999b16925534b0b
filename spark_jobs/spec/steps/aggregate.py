"""Aggregate, as a spec declares it. Its Spark code: steps/aggregate.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import (
    ColumnName,
    Columns,
    Origins,
    computed,
    in_words,
    of_sql,
    refuse_own,
    refuse_repeated,
    refuse_unknown,
)
from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.model import refuse
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.sql import Expression
from spark_jobs.spec.steps.expires import Expires, Variable
from spark_jobs.spec.steps.step import Balance, EvictedBy, Known, Step
from spark_jobs.spec.windows import Session, Sliding, Tumbling, Window
from spark_jobs.values.own_columns import WINDOW
from spark_jobs.values.spans import Position, Span, Times


class Aggregate(Step):
    """Groups rows by keys and a window of the event time. The measures are Spark SQL aggregates:
    Spark's groupBy(...).agg(...).

    Without a window a group is never final, so the output mode must be update or complete.
    """

    operator: ClassVar = "spark_jobs.steps.aggregate:AggregateOperator"
    canonical: ClassVar = "spark_jobs.steps.canonical.aggregate:all_at_once"
    kind: Literal["aggregate"] = "aggregate"
    window: Window | None = None
    """the window of the event time, if any"""
    keys: tuple[str, ...] = ()
    """the grouping columns besides the window"""
    measures: dict[str, Expression] = Described(min_length=1)
    """output column -> Spark SQL aggregate"""
    counts: str | None = None
    """the measure that is count(*); with it the account also compares accepted rows with groups"""
    event_time: ColumnName | None = None
    """the name of an output column with the window's last instant: a later stateful step's event
    time
    """
    stateful: Literal[True] = True

    @model_validator(mode="after")
    def _named(self) -> Self:
        refuse_repeated("keys", self.keys)
        refuse_own("keys", self.keys)
        refuse_own("measures", (*self.measures, self.event_time or ""))
        made = sorted({WINDOW, "window_start", "window_end"} & set(self.keys))
        if made:
            refuse(
                "keys",
                made,
                "the Aggregate adds columns with these names itself",
                "Leave them out, or rename the field",
            )
        for name in self.measures:
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
                refuse(
                    "measures",
                    name,
                    "a measure must be a column name",
                    "Use lower-case letters, digits and underscores, a letter first",
                )
        clash = sorted(
            {*self.measures, *filter(None, [self.event_time])}
            & {*self.keys, "window_start", "window_end"}
        )
        clash += [WINDOW] if self.window and WINDOW in self.measures else []
        if clash:
            refuse(
                "measures",
                clash,
                "the output already has columns with these names",
                "Rename the measure",
            )
        if self.event_time is not None and (
            self.window is None or self.event_time in self.measures
        ):
            refuse(
                "event_time",
                self.event_time,
                "it is a column with the window's last instant, and no measure",
                "Give the Aggregate a window, and this column another name than the measures",
            )
        if (
            self.counts is not None
            and self.measures.get(self.counts, "").replace(" ", "").lower() != "count(*)"
        ):
            refuse(
                "counts",
                self.counts,
                "no measure of that name is count(*)",
                "Name the measure whose expression is count(*)",
            )
        return self

    @property
    def group(self) -> tuple[str, ...]:
        """The output columns that identify a group."""
        return (*(("window_start", "window_end") if self.window else ()), *self.keys)

    @property
    def described(self) -> str:
        measures = ", ".join(f"`{name}` = `{sql}`" for name, sql in self.measures.items())
        groups = (
            " and ".join(filter(None, [str(self.window or ""), in_words(self.keys)]))
            or "all rows together"
        )
        return f"for every {groups}: {measures}"

    @property
    def evicted_by(self) -> EvictedBy:
        return "watermark" if self.window else "nothing"

    @property
    def rows_per_record(self) -> int:
        return -(-self.window.size // self.window.slide) if isinstance(self.window, Sliding) else 1

    @property
    def update_key(self) -> tuple[str, ...]:
        return self.group

    @property
    def aggregates(self) -> dict[str, Expression]:
        return self.measures

    @property
    def counted_by(self) -> str | None:
        # In sliding windows a record is in several, and may be late for some of them.
        return None if isinstance(self.window, Sliding) else self.counts

    @property
    def grouping_keys(self) -> tuple[str, ...]:
        return self.keys

    @property
    def row_key(self) -> tuple[str, ...]:
        return self.group

    @property
    def remembers(self) -> bool:
        return True

    @property
    def balance(self) -> Balance:
        return Balance(
            counted_in="groups", drops_duplicates=False, only_fewer=False, several_per_key=False
        )

    @property
    def grouping_window(self) -> Window | None:
        return self.window

    @property
    def late_after(self) -> timedelta | None:
        return self.window.first_end_after if self.window else None

    def first_timely(self, watermark: datetime) -> datetime | None:
        return self.window.first_timely(watermark) if self.window else None

    def with_expressions(self, was: Mapping[str, Any]) -> Self:
        if not was["measures"]:
            return self
        update: dict[str, object] = {"measures": dict(was["measures"])}
        gap = (was["window"] or {}).get("gap_sql")
        if gap and self.window:
            update["window"] = self.window.model_copy(update={"gap_sql": gap})
        return self.model_copy(update=update)

    def expires(
        self,
        variable: Variable,
        columns: Sequence[str],
        time: str | None,
        mode: str,
    ) -> Expires:
        final = self.window and mode != "complete"
        return Expires("window_end", "watermark") if final else Expires()

    def state_key(self, columns: Columns) -> Columns:
        return self.group

    def columns_after(self, columns: Columns) -> Columns:
        refuse_unknown("Aggregate", "keys", self.keys, columns)
        return (*self.group, *self.measures, *filter(None, [self.event_time]))

    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        return {name: kind for name, kind in types.items() if name in self.keys}

    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:
        times = {"window_start", "window_end"} if self.window else set()
        of_window = computed(filter(None, [event_time]), origins, "transformation")
        found = {
            **{name: origins.get(name, ()) for name in self.keys},
            **dict.fromkeys((*times, *filter(None, [self.event_time])), of_window),
            **{name: of_sql(sql, origins, "aggregation") for name, sql in self.measures.items()},
        }
        return {name: from_ for name, from_ in found.items() if from_}

    def carried(
        self,
        known: Mapping[str, Known],
        measured: Callable[[str], Known],
        yielded: Callable[[Field], Known],
    ) -> dict[str, Known]:
        kept = {name: each for name, each in known.items() if name in self.keys}
        return kept | {name: measured(sql) for name, sql in self.measures.items()}

    def time_after(self, event_time: str | None) -> str | None:
        return self.event_time

    def refuse_time(self, time: str | None, output_mode: str) -> None:
        watermark_ignored = output_mode == "complete" and not isinstance(self.window, Session)
        if time in self.keys and not watermark_ignored:
            refuse(
                "Aggregate.keys",
                self.keys,
                f"Spark would evict groups by {time}, and drop their late rows",
                "Group by a window, or by a copy: begin with a Transform that is SELECT *, "
                f"{time} AS same_time FROM rows",
            )

    def refuse_mode(self, mode: str, *, first: bool) -> None:
        session = isinstance(self.window, Session)
        if mode == "append" and self.window is None:
            refuse(
                "output_mode",
                mode,
                "append writes a group when it is final, and a group without a window is never "
                "final",
                "Use update or complete, or give the Aggregate a window",
            )
        if mode == "append" and session and first:
            refuse(
                "steps",
                "session",
                "a late row can create a second session after Spark wrote the first",
                "Put a Deduplicate before the Aggregate: it drops late rows and duplicates",
            )
        if mode == "update" and session:
            refuse(
                "output_mode",
                mode,
                "a growing session changes its window, and Spark does not support session windows "
                "in update mode",
                "Use append: it writes a session when the session has ended",
            )

    def unranged(self, ranges: Ranges) -> str | None:
        if self.window is None:
            return "each record changes its group of an Aggregate without a window for good"
        return self.window.unranged(ranges.context) if isinstance(self.window, Session) else None

    def needed(self, positions: Span, delay: timedelta, ranges: Ranges, of_input: str) -> Span:
        if isinstance(self.window, Session):
            return self.window.needed(positions, ranges.context or timedelta())
        return self._aligned_window().needed(positions)

    def touched(self, positions: Times, ranges: Ranges, of_input: str) -> Times:
        if isinstance(self.window, Session):
            return self.window.touched(positions, ranges.context or timedelta())
        return self._aligned_window().touched(positions)

    def position_after(self, position: Position | None, ranges: Ranges) -> Position | None:
        return Position("window_end", "end") if self.window else None

    def _aligned_window(self) -> Tumbling | Sliding:
        if isinstance(self.window, Tumbling | Sliding):
            return self.window
        message = "neither Tumbling nor Sliding"
        raise TypeError(message)
