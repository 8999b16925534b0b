"""GroupState as a spec declares it: which form of Spark's arbitrary state, with which clock, from which state to begin with."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.contract.columns import Columns, refuse_repeated, refuse_unknown
from spark_jobs.contract.model import refuse
from spark_jobs.contract.step.step import Balance, EvictedBy, StepBase
from spark_jobs.contract.topic import Field


class GroupState(StepBase):
    """State of your own by key, kept by code in the pipeline's logic.py.

    row     a StatefulProcessor, row by row: Spark's transformWithState. The form for most.
    pandas  a StatefulProcessor that takes and yields pandas frames: transformWithStateInPandas. For few keys with many rows.
    apply   a function (key, frames, state): applyInPandasWithState, which is Spark's flatMapGroupsWithState in Python. One
            state and one time-out a key; nothing stateful can follow it.

    A processor declares its own value, list and map states, their TTL (in time mode processing) and its timers.
    """

    kind: Literal["group_state"] = "group_state"
    form: Literal["row", "pandas", "apply"] = Described(
        default="row",
        description="row: transformWithState, row by row; pandas: transformWithStateInPandas, frame by frame; "
                    "apply: applyInPandasWithState, one state and one time-out a key, and nothing stateful after it",
    )
    processor: Annotated[str, Described(description="the class, or for apply the function, in logic.py",
                                        pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
    keys: tuple[str, ...] = Described(description="one state for each combination of these columns", min_length=1)
    output: tuple[Field, ...] = Described(description="the columns that the processor yields", min_length=1)
    state: tuple[Field, ...] = Described(default=(), description="for apply: the columns of a key's state")
    time_mode: Literal["none", "event", "processing"] = Described(
        default="event", description="what timers and time-outs go by: nothing, event time or the clock; TTL needs processing"
    )
    initial_state: str | None = Described(
        default=None, description="a Delta table with the keys' first states: a name under <root>/tables, or a path"
    )
    event_time: str | None = Described(
        default=None, description="the output column that is the rows' event time, for a stateful step after this one"
    )
    stateful: Literal[True] = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        refuse_repeated("keys", self.keys)
        refuse_repeated("output", (field.name for field in self.output))
        refuse_repeated("state", (field.name for field in self.state))
        if self.form == "apply":
            self._refuse_in_apply()
        elif self.state:
            refuse("state", [field.name for field in self.state], "a StatefulProcessor declares its states in its init",
                   "Leave it out, or use form='apply'")
        if self.event_time is not None:
            self._refuse_no_time(self.event_time)
        return self

    def _refuse_in_apply(self) -> None:
        if not self.state:
            refuse("state", (), "applyInPandasWithState must know the columns of a key's state before it runs",
                   "Declare them: state=(Field(name='seen', type='bigint'),)")
        if self.initial_state is not None:
            refuse("initial_state", self.initial_state, "Spark's applyInPandasWithState takes none in Python",
                   "Use form='row' or 'pandas', whose processor has handleInitialState")
        if self.event_time is not None:
            refuse("event_time", self.event_time, "nothing stateful can follow applyInPandasWithState", "Leave it out")

    def _refuse_no_time(self, name: str) -> None:
        if not any(field.name == name and field.type == "timestamp" and field.required for field in self.output):
            refuse("event_time", name, "it is not a required timestamp column of output", "Name one that is, or declare it so")
        if self.time_mode != "event":
            refuse("event_time", name, f"in time mode {self.time_mode} Spark holds no yielded row against the watermark",
                   "Use time_mode='event'")

    @property
    def output_columns(self) -> tuple[str, ...]:
        """The columns that the processor yields."""
        return tuple(field.name for field in self.output)

    @property
    def evicted_by(self) -> EvictedBy:
        match self.time_mode:
            case "event":
                return "watermark"
            case "processing":
                return "processor"
            case "none":
                return "nothing"

    @property
    def rows_per_record(self) -> int:
        return 4  # a guess: a processor keeps what it likes

    @property
    def update_key(self) -> tuple[str, ...]:
        return self.keys

    @property
    def balance(self) -> Balance:
        return Balance(counted_in="rows", drops_duplicates=False, only_fewer=False, several_per_key=True)

    @property
    def logic(self) -> str:
        return self.processor

    @property
    def grouping_window(self) -> None:
        return None

    @property
    def endless(self) -> bool:
        return self.time_mode == "processing"  # for any clock but the watermark: SPARK-50180

    @property
    def needs_rocksdb(self) -> bool:
        return self.form != "apply"  # transformWithState's rule

    def state_key(self, columns: Columns) -> Columns:  # noqa: ARG002 - as the other steps
        return self.keys

    def columns_after(self, columns: Columns) -> Columns:
        refuse_unknown("GroupState", "keys", self.keys, columns)
        return self.output_columns

    def types_after(self, types: dict[str, str]) -> dict[str, str]:  # noqa: ARG002 - as the other steps
        return {field.name: field.type for field in self.output}

    def time_after(self, event_time: str | None) -> str | None:  # noqa: ARG002 - as the other steps
        return self.event_time
