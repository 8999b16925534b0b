"""Following: what a step that makes its table follow a key declares: Latest and History."""

from __future__ import annotations

import re
from abc import abstractmethod
from datetime import timedelta
from typing import ClassVar, Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import Columns, refuse_own, refuse_repeated, refuse_unknown
from spark_jobs.spec.model import refuse
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.sql.types import Expression
from spark_jobs.spec.steps.step import Balance, StepBase

COMPARABLE: Final = re.compile(
    r"(tinyint|smallint|int|bigint|decimal\(.*\)|date|timestamp|timestamp_ntz|string)"
)
"""Types whose values Spark, Arrow and delta-rs order alike: double has NaN and -0.0."""


class Following(StepBase):
    """The last step of a pipeline whose table follows a key. It keeps no state in Spark: what it
    remembers is in the table.
    """

    kind: str
    keys: tuple[str, ...] = Described(min_length=1)
    """the columns of the key"""
    order_by: tuple[str, ...] = Described(min_length=1)
    """columns that order a key's changes; of equal ones the later offset wins"""
    deletes: Expression | None = Described(default=None, min_length=1)
    """a Spark SQL condition of a record that deletes"""
    missing: Literal["null", "keep"] | dict[str, Expression] = "null"
    """whether a null is a value, or the row keeps its own; or, by column, Spark SQL of a change
    that lacks it
    """
    stateful: Literal[False] = False

    @model_validator(mode="after")
    def _named(self) -> Self:
        for field, names in self.compared.items():
            refuse_repeated(field, names)
            refuse_own(field, names)
            if odd := [name for name in names if '"' in name or "`" in name]:
                refuse(field, odd, "Sluice writes the names into SQL, in quotes", "Rename them")
        if both := sorted({*self.keys} & {*self.order_by}):
            refuse("order_by", both, "a key's changes have one value in it", "Leave it out")
        if self.missing == {}:
            refuse("missing", {}, "it names no column", "Leave it out")
        if both := sorted({*self._lacked} & {*self.placed}):
            refuse("missing", both, "each change has it", "Leave it out")
        return self

    @property
    def _lacked(self) -> tuple[str, ...]:
        return () if isinstance(self.missing, str) else tuple(self.missing)

    spans: ClassVar[tuple[str, ...]] = ()
    """The columns that it adds, where a row is valid for a while."""
    parted_by: ClassVar[tuple[str, ...]] = ()
    """Those of its own columns that part the table."""

    @property
    @abstractmethod
    def commits(self) -> str:
        """The function (rows, step, Commit) that gives the table a batch, as module:name. It is
        imported where batches are committed.
        """

    canonical_of_keys: ClassVar[str]
    """The function (changes, known, step) that gives the rows of keys where all of their changes
    are there at once, as module:name, likewise. `known` are the table's rows.
    """

    @property
    def time(self) -> str:
        """The column with a change's time."""
        return self.order_by[0]

    @property
    def forgets_after(self) -> timedelta | None:
        """How long the table remembers a delete; None where a delete leaves nothing behind."""
        return None

    @property
    @abstractmethod
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a row of the table."""

    @property
    def highest_decides(self) -> bool:
        """Whether a row is that of the change with the highest position, whatever else came."""
        return self.missing == "null"

    @property
    def compared(self) -> dict[str, tuple[str, ...]]:
        """Field -> the columns that it names and that are compared: they are never null, and a
        delete has them too.
        """
        return {"keys": self.keys, "order_by": self.order_by}

    @property
    def placed(self) -> tuple[str, ...]:
        """All of these."""
        return tuple(dict.fromkeys(name for names in self.compared.values() for name in names))

    @property
    def remembers(self) -> bool:
        return True

    @property
    def balance(self) -> Balance:
        return Balance(
            counted_in="rows", drops_duplicates=False, only_fewer=True, several_per_key=False
        )

    def columns_after(self, columns: Columns) -> Columns:
        for field, names in (self.compared | {"missing": self._lacked}).items():
            refuse_unknown(type(self).__name__, field, names, columns)
        return columns

    def time_after(self, event_time: str | None) -> None:  # noqa: ARG002 - a delete has none
        return None

    def unranged(self, ranges: Ranges) -> str | None:  # noqa: ARG002 - as the other steps
        return f"a change of any time may decide what a {type(self).__name__} has of its key"
