"""Following: what a step that makes its table follow a key declares: Latest and History."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import ClassVar, Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import Columns, refuse_own, refuse_repeated, refuse_unknown
from spark_jobs.spec.model import refuse
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.sql import Expression, names_in
from spark_jobs.spec.steps.step import Balance, Step

COMPARABLE: Final = re.compile(
    r"(tinyint|smallint|int|bigint|decimal\(.*\)|date|timestamp|timestamp_ntz|string)"
)
"""Types whose values Spark, Arrow and delta-rs order alike: double has NaN and -0.0."""


class Following(Step):
    """The last step of a pipeline whose table follows a key. It keeps no state in Spark: what it
    remembers is in the table.
    """

    kind: str
    keys: tuple[str, ...] = Described(min_length=1)
    """the columns of the key"""
    order_by: tuple[str, ...] = Described(min_length=1)
    """columns that order a key's changes; of equal ones the later record wins"""
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
    """The columns, among its own, that part the table."""

    commits: ClassVar = "spark_jobs.sink.keyed.follow:follow"
    """The function (rows, step, Commit) that gives the table a batch, as module:name. It is
    imported where batches are committed.
    """
    accounts: ClassVar = "spark_jobs.audit.keyed_account:keyed"
    """Likewise the function that holds a batch's account against the table's log."""
    remembers_share: ClassVar = "spark_jobs.sink.keyed.forgetting:remembered_share"
    """Likewise the function (path, version) that gives the share of deletes that are remembered."""
    forgets: ClassVar = "spark_jobs.sink.keyed.forgetting:forget_deletes"
    """Likewise the function (run, step) that forgets deletes behind a run."""

    @property
    def follows(self) -> Literal[True]:
        return True

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
        """Whether the change with the highest position makes the row, whatever else came."""
        return self.missing == "null"

    @property
    def decided_by(self) -> tuple[str, ...] | None:
        if not self.highest_decides:
            return None
        return (*self.placed, *names_in(self.deletes or ""))

    @property
    def compared(self) -> dict[str, tuple[str, ...]]:
        """Field -> the columns that it names and that are compared: they are never null, and a
        delete has them too.
        """
        return {"keys": self.keys, "order_by": self.order_by}

    @property
    def placed(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in self.compared.values() for name in names))

    @property
    def remembers(self) -> bool:
        return True

    @property
    def balance(self) -> Balance:
        return Balance(
            counted_in="rows", drops_duplicates=False, only_fewer=True, several_per_key=False
        )

    def refuse_types(self, types: Mapping[str, str]) -> None:
        for field, names in self.compared.items():
            of = {name: types[name] for name in names if name in types}
            odd = [f"{name} {kind}" for name, kind in of.items() if not COMPARABLE.fullmatch(kind)]
            if odd:
                refuse(
                    f"{type(self).__name__}.{field}",
                    odd,
                    "Spark and Delta may compare values of this type differently",
                    "Use a column of an integer, decimal, string, date or timestamp",
                )

    def refuse_beside(
        self,
        before: Sequence[Step],
        after: Sequence[Step],
        mode: str,
        *,
        several: bool,
        undeleted: bool,
    ) -> None:
        name = type(self).__name__
        if after:
            refuse(
                "steps",
                after[0].kind,
                f"the table is what a {name} makes, so nothing follows it",
                f"Put the {name} last",
            )
        if others := [each.kind for each in before if each.remembers]:
            refuse(
                "steps",
                others,
                f"a {name} takes the changes as the topic has them",
                f"Leave out the others: a {name} drops copies by itself",
            )
        if several:
            refuse(
                "topics",
                "several",
                "offsets of two topics have no order, and they decide between equal positions",
                "Give each topic a pipeline of its own",
            )
        if mode != "append":
            refuse(
                "output_mode",
                mode,
                f"a {name} decides itself which rows it replaces",
                "Leave output_mode out",
            )
        if undeleted and not self.deletes:
            refuse(
                f"{name}.deletes",
                self.deletes,
                "a tombstone says that its key is gone, and a dropped one deletes nothing",
                "Say which records delete; or leave tombstones malformed, so that they are kept",
            )

    def columns_after(self, columns: Columns) -> Columns:
        for field, names in (self.compared | {"missing": self._lacked}).items():
            refuse_unknown(type(self).__name__, field, names, columns)
        return columns

    def time_after(self, event_time: str | None) -> None:
        return None

    def unranged(self, ranges: Ranges) -> str | None:
        return f"a change of any time may decide what a {type(self).__name__} has of its key"
