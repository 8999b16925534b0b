"""History, as a spec declares it. Its Spark code: steps/history.py; its rows: steps/keyed/."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from spark_jobs.spec.columns import Columns, Origins, computed, in_words
from spark_jobs.spec.model import refuse
from spark_jobs.spec.steps.following import Following

VALID_FROM: Final = "valid_from"
VALID_TO: Final = "valid_to"
"""Null of a version that nothing has ended yet."""
CURRENT: Final = "current"
SPAN: Final = (VALID_FROM, VALID_TO, CURRENT)
"""The columns that a History adds."""


class History(Following):
    """Each version of a key's row, with the time in which it was valid.

    It adds the columns valid_from, valid_to and current. A version ends where the next one begins,
    and a delete ends the last one. A change that comes late is put into its place. A version is
    valid from the latest time of it and of all before it, so a clock that went back makes no
    overlap.
    """

    operator: ClassVar = "spark_jobs.steps.history:HistoryOperator"
    kind: Literal["history"] = "history"
    spans: ClassVar = SPAN
    parted_by: ClassVar = (CURRENT,)  # what has ended is seldom written again
    valid_from: str | None = None
    """the column with a change's time. Default: the first of order_by"""

    @property
    def time(self) -> str:
        return self.valid_from or self.order_by[0]

    @property
    def described(self) -> str:
        gone = f"; the last one ends where `{self.deletes}`" if self.deletes else ""
        return (
            f"keep every version of the row of each {in_words(self.keys)}, by "
            f"{in_words(self.order_by)}, valid from {self.time}{gone}"
        )

    @property
    def row_key(self) -> tuple[str, ...]:
        return (*self.keys, *self.order_by)

    @property
    def compared(self) -> dict[str, tuple[str, ...]]:
        return {**super().compared, "valid_from": (self.time,)}

    def columns_after(self, columns: Columns) -> Columns:
        columns = super().columns_after(columns)
        if columns is None:
            return None
        if taken := [name for name in columns if name.lower() in SPAN]:
            refuse("History", taken, "a History adds columns with these names", "Rename them")
        return (*columns, *SPAN)

    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        times = (
            dict.fromkeys((VALID_FROM, VALID_TO), types[self.time]) if self.time in types else {}
        )
        return {**types, **times, CURRENT: "boolean"}

    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:
        of_time = computed([self.time], origins, "aggregation")
        return {**origins, **({VALID_FROM: of_time, VALID_TO: of_time} if of_time else {})}
