"""Deduplicate, as a spec declares it. Its Spark code: steps/deduplicate.py."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import ClassVar, Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import Columns, Origins, in_words, refuse_repeated, refuse_unknown
from spark_jobs.spec.model import refuse
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.steps.expires import Expires, Variable
from spark_jobs.spec.steps.step import Balance, EvictedBy, Step
from spark_jobs.values.spans import Span, Times

KEPT_UNTIL: Final = {
    "watermark": "keys are kept until the watermark passes their event time plus the delay",
    "event_time": "keys are kept until the watermark passes their event time",
    "for_ever": "keys are kept for ever",
}


class Deduplicate(Step):
    """Drops rows with a key that came before. `scope` says how long a key stays in the state:

    watermark   until the watermark passes its event time plus the delay: Spark's
                dropDuplicatesWithinWatermark.
    event_time  until the watermark passes its event time, which is one of the keys: Spark's
                dropDuplicates.
    for_ever    always: Spark's dropDuplicates. The spec must set state.budget_rows.
    """

    operator: ClassVar = "spark_jobs.steps.deduplicate:DeduplicateOperator"
    canonical: ClassVar = "spark_jobs.steps.canonical.deduplicate:all_at_once"
    kind: Literal["deduplicate"] = "deduplicate"
    keys: tuple[str, ...] = Described(min_length=1)
    """the columns of the key: rows with equal keys are duplicates; ('*',) for all columns"""
    scope: Literal["watermark", "event_time", "for_ever"] = "watermark"
    """how long a key stays in the state. watermark: until the watermark passes its event time plus
    the delay; event_time: until the watermark passes its event time, which must be one of the keys;
    for_ever: always
    """
    stateful: Literal[True] = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        refuse_repeated("keys", self.keys)
        return self

    @property
    def whole_row(self) -> bool:
        """Whether the key is all columns."""
        return self.keys == ("*",)

    @property
    def described(self) -> str:
        key = "columns are all equal" if self.whole_row else f"{in_words(self.keys)} are equal"
        return f"drop duplicates: rows whose {key} ({KEPT_UNTIL[self.scope]})"

    @property
    def evicted_by(self) -> EvictedBy:
        return "nothing" if self.scope == "for_ever" else "watermark"

    @property
    def rows_per_record(self) -> int:
        return 1

    @property
    def remembers(self) -> bool:
        return True

    @property
    def keeps_rows(self) -> bool:
        return True

    @property
    def balance(self) -> Balance:
        return Balance(
            counted_in="rows", drops_duplicates=True, only_fewer=True, several_per_key=False
        )

    @property
    def distinct_by(self) -> tuple[str, ...] | None:
        return None if self.whole_row else self.keys

    def copies_for(self, delay: timedelta | None) -> timedelta | None:
        return {"watermark": delay, "event_time": timedelta(), "for_ever": None}[self.scope]

    @property
    def late_after(self) -> timedelta:
        return timedelta()

    def expires(
        self,
        variable: Variable,
        columns: Sequence[str],
        time: str | None,
        mode: str,
    ) -> Expires:
        match self.scope:
            case "watermark":
                return Expires("expires_at", "watermark")
            case "event_time":
                return Expires(time or "", "watermark")
            case "for_ever":
                return Expires()

    def state_key(self, columns: Columns) -> Columns:
        return columns if self.whole_row else self.keys

    def columns_after(self, columns: Columns) -> Columns:
        if not self.whole_row:
            refuse_unknown("Deduplicate", "keys", self.keys, columns)
        return columns

    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        return types

    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:
        return origins

    def time_after(self, event_time: str | None) -> str | None:
        return event_time

    def refuse_time(self, time: str | None, output_mode: str) -> None:
        if self.scope == "event_time" and time not in self.keys:
            refuse(
                "Deduplicate.keys",
                self.keys,
                f"scope 'event_time' evicts by {time}, which is not in keys",
                "Add it to the keys, or use scope 'watermark'",
            )

    def unranged(self, ranges: Ranges) -> str | None:
        if self.scope == "for_ever":
            return (
                "a Deduplicate with scope 'for_ever' drops a row because of a copy at any time "
                "before it"
            )
        return None

    def needed(self, positions: Span, delay: timedelta, ranges: Ranges, of_input: str) -> Span:
        # With the event time among the keys, copies have the same one.
        wider = delay if self.scope == "watermark" else timedelta()
        return positions.widened(wider, wider)

    def touched(self, positions: Times, ranges: Ranges, of_input: str) -> Times:
        # An accepted copy is kept before a late one, so a late record changes its own row alone.
        return positions
