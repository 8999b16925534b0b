"""GroupState, as a spec declares it: the form of Spark's arbitrary state, its clock and its initial
state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import (
    Columns,
    Origins,
    in_words,
    refuse_own,
    refuse_repeated,
    refuse_unknown,
)
from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.model import refuse
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.steps.expires import Clock, Expires, Variable
from spark_jobs.spec.steps.group_forms import (
    CALLED_WITH,
    GAPS,
    UNFOLLOWED,
    refuse_in_apply,
    refuse_in_buckets,
    refuse_key_types,
    refuse_no_time,
)
from spark_jobs.spec.steps.step import Balance, Bucketed, EvictedBy, Known, Step
from spark_jobs.values.gap import Gap
from spark_jobs.values.spans import Position, Span, Times

CLOCKS: Final = {
    "none": "without timers",
    "event": "timers by event time",
    "processing": "timers by processing time",
}


EVICTED: Final[Mapping[str, EvictedBy]] = {
    "event": "watermark", "processing": "processor", "none": "nothing",
}  # fmt: skip


class GroupState(Step):
    """Arbitrary state for each key, which code in the pipeline's logic.py reads and writes.

    row     a StatefulProcessor that gets rows: Spark's transformWithState. Choose it in most cases.
    pandas  a StatefulProcessor that gets and yields pandas frames: transformWithStateInPandas. For
            few keys with many rows.
    apply   a function (key, frames, state): applyInPandasWithState, Spark's flatMapGroupsWithState
            in Python. A key has one
            state and one time-out. No stateful step can follow.
    buckets a function (rows, state) that gets pyarrow Tables with the rows and the state of many
            keys at once. For many keys, in time mode none. No stateful step can follow.

    A processor declares its own value, list and map states, their TTL (in time mode processing) and
    its timers.
    """

    operator: ClassVar = "spark_jobs.steps.group_state:GroupStateOperator"
    kind: Literal["group_state"] = "group_state"
    form: Literal["row", "pandas", "apply", "buckets"] = "row"
    """row: transformWithState, row by row; pandas: transformWithStateInPandas, frame by frame;
    apply: applyInPandasWithState, one state and one time-out per key, and no stateful step after
    it; buckets: rows and state of many keys at once, as pyarrow Tables, in time mode none, and no
    stateful step after it
    """
    processor: Annotated[
        str,
        Described(
            description="the name of the class in logic.py; for apply and buckets, of the function",
            pattern=r"^[A-Za-z][A-Za-z0-9_]*$",
        ),
    ]
    keys: tuple[str, ...] = Described(min_length=1)
    """the columns of the key; each combination of values has its own state"""
    output: tuple[Field, ...] = Described(min_length=1)
    """the columns that the processor yields"""
    state: tuple[Field, ...] = ()
    """the columns of a key's state, for apply and buckets only"""
    buckets: int | None = None
    """how many buckets the keys are put into, for buckets only: a batch reads and writes the whole
    state of each bucket of which it has rows
    """
    time_mode: Literal["none", "event", "processing"] = "event"
    """the clock of timers and time-outs: none, event or processing time; TTL needs processing"""
    initial_state: str | None = None
    """a Delta table with the initial state of keys: a name under <root>/tables, or a path"""
    event_time: str | None = None
    """the output column with the event time, for a later stateful step"""
    stateful: Literal[True] = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        refuse_repeated("keys", self.keys)
        refuse_own("keys", self.keys)
        refuse_own("output", self.output_columns)
        refuse_repeated("output", (field.name for field in self.output))
        refuse_repeated("state", (field.name for field in self.state))
        if odd := [field.name for field in (*self.output, *self.state) if not field.plain]:
            refuse(
                "output",
                odd,
                "path, part, format and rules are of a record's fields",
                "Leave them out",
            )
        if self.form == "apply":
            refuse_in_apply(self.state, self.initial_state, self.event_time)
        elif self.form == "buckets":
            refuse_in_buckets(
                self.buckets, self.keys, self.state, self.time_mode, self.initial_state
            )
        elif self.state:
            refuse(
                "state",
                [field.name for field in self.state],
                "a StatefulProcessor declares its states in its method init",
                "Leave it out, or use form='apply' or 'buckets'",
            )
        if self.form != "buckets" and self.buckets is not None:
            refuse(
                "buckets",
                self.buckets,
                f"form {self.form!r} keeps each key's state by itself",
                "Leave it out, or use form='buckets'",
            )
        if self.event_time is not None:
            refuse_no_time(self.event_time, self.output, self.time_mode)
        return self

    @property
    def output_columns(self) -> tuple[str, ...]:
        """The columns that the processor yields."""
        return tuple(field.name for field in self.output)

    @property
    def described(self) -> str:
        buckets = f", in {self.buckets:,} buckets" if self.buckets else ""
        return (
            f"for every {in_words(self.keys)}{buckets}: `{self.processor}` in logic.py, "
            f"{CLOCKS[self.time_mode]}; output columns {in_words(self.output_columns)}"
        )

    @property
    def evicted_by(self) -> EvictedBy:
        return EVICTED[self.time_mode]

    @property
    def rows_per_record(self) -> int:
        return 1 if self.form == "buckets" else 4  # a guess: a processor may keep any state

    @property
    def update_key(self) -> tuple[str, ...]:
        return self.keys

    @property
    def grouping_keys(self) -> tuple[str, ...]:
        return self.keys

    @property
    def remembers(self) -> bool:
        return True

    @property
    def by_code(self) -> bool:
        return True

    def settled_after(self, ranges: Ranges) -> timedelta:
        return ranges.settle

    @property
    def balance(self) -> Balance:
        return Balance(
            counted_in="rows", drops_duplicates=False, only_fewer=False, several_per_key=True
        )

    @property
    def logic(self) -> str:
        return self.processor

    @property
    def called_with(self) -> tuple[str, ...] | None:
        return CALLED_WITH.get(self.form)

    @property
    def late_after(self) -> timedelta | None:
        # Spark compares rows with the watermark only in this time mode.
        return timedelta() if self.time_mode == "event" else None

    @property
    def endless(self) -> bool:
        return self.time_mode == "processing"  # SPARK-50180: timers, TTL: no-data batches for ever

    @property
    def needs_rocksdb(self) -> bool:
        return self.form != "apply"  # Spark runs transformWithState only on RocksDB

    @property
    def needs_watermark(self) -> bool:
        return self.form == "apply"

    @property
    def bucketed(self) -> Bucketed | None:
        return Bucketed(self.buckets, self.keys, self.state) if self.buckets else None

    @property
    def unfollowed(self) -> tuple[str, str] | None:
        if self.form not in UNFOLLOWED:
            return None
        return UNFOLLOWED[self.form], "Use form='row' or 'pandas', or put it last"

    def unheld(self, kind: str) -> tuple[tuple[Gap, ...], str]:
        gaps, why = GAPS.get((self.form, kind), ((), ""))
        return gaps, why and f"{why} {self.form!r}"

    def expires(
        self, variable: Variable, columns: Sequence[str], time: str | None, mode: str
    ) -> Expires:
        clock: Clock = "watermark" if self.time_mode == "event" else "clock"
        if variable.kind == "TimerState":
            return Expires("due", clock, "timers")
        if variable.ttl:
            return Expires("expires_at", "clock")
        if "timeout_at" in columns:
            return Expires("timeout_at", clock, "timeouts")
        return Expires("", "processor")

    def refuse_types(self, types: Mapping[str, str]) -> None:
        refuse_key_types(self.form, {key: types.get(key, "") for key in self.keys})

    def state_key(self, columns: Columns) -> Columns:
        return self.keys

    def columns_after(self, columns: Columns) -> Columns:
        refuse_unknown("GroupState", "keys", self.keys, columns)
        return self.output_columns

    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        return {field.name: field.type for field in self.output}

    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:
        return {}

    def carried(
        self,
        known: Mapping[str, Known],
        measured: Callable[[str], Known],
        yielded: Callable[[Field], Known],
    ) -> dict[str, Known]:
        return {field.name: yielded(field) for field in self.output}

    def time_after(self, event_time: str | None) -> str | None:
        return self.event_time

    def refuse_mode(self, mode: str, *, first: bool) -> None:
        if mode == "complete":
            refuse(
                "output_mode",
                mode,
                "Spark does not keep the whole result of a GroupState",
                "Use append or update",
            )
        missing = [key for key in self.keys if key not in self.output_columns]
        if mode == "update" and missing:
            refuse(
                "GroupState.output",
                missing,
                "a row replaces the last row of its key, and output lacks these keys",
                "Add the keys to output, or use append",
            )

    def unranged(self, ranges: Ranges) -> str | None:
        if self.time_mode != "event":
            return f"a GroupState in time mode {self.time_mode} depends on more than event time"
        if self.initial_state is not None:
            return (
                f"a GroupState's rows may depend on {self.initial_state!r}, its initial_state, "
                "which only the first batch of all reads"
            )
        if ranges.context is None:
            return (
                "only you know how far before a row the events are on which a GroupState's row "
                "depends: declare ranges=Ranges(by=..., context=...)"
            )
        return None

    def needed(self, positions: Span, delay: timedelta, ranges: Ranges, of_input: str) -> Span:
        return positions.widened(ranges.context or timedelta(), ranges.settle)

    def touched(self, positions: Times, ranges: Ranges, of_input: str) -> Times:
        return positions.widened(ranges.settle, ranges.context or timedelta())

    def position_after(self, position: Position | None, ranges: Ranges) -> Position | None:
        return Position(self.event_time) if self.event_time else None
