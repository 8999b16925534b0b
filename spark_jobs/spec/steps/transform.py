"""Transform, as a spec declares it. Its Spark code: steps/transform.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.columns import Columns, Origins
from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.model import refuse
from spark_jobs.spec.ranges import Ranges
from spark_jobs.spec.sql import Expression, Query
from spark_jobs.spec.steps.step import Balance, Known, Step
from spark_jobs.values.spans import Position


class Transform(Step):
    """A step without state: a filter, a SQL query or a function. In SQL the input is the table
    `rows`.

    Before the first stateful step it must return at most one row for each row and keep the column
    `kafka`, as SELECT * does: Sluice finds late records by that column. After the first stateful
    step the rows have no such column.
    """

    operator: ClassVar = "spark_jobs.steps.transform:TransformOperator"
    canonical: ClassVar = "spark_jobs.steps.transform:all_at_once"
    kind: Literal["transform"] = "transform"
    where: Expression | None = Described(default=None, min_length=1)
    """a Spark SQL condition: keep the rows for which it is true"""
    sql: Query | None = Described(default=None, min_length=1)
    """a Spark SQL query: SELECT ... FROM rows"""
    function: str | None = Described(default=None, pattern=r"^[a-z][a-z0-9_]*$")
    """the name of a function DataFrame -> DataFrame in logic.py"""
    stateful: Literal[False] = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [name for name in ("where", "sql", "function") if getattr(self, name) is not None]
        if len(given) != 1:
            refuse(
                "where",
                given,
                "a Transform needs exactly one of where, sql and function",
                "Give one of them",
            )
        if self.sql is not None and not re.search(r"\brows\b", self.sql):
            refuse("sql", self.sql, "it does not read the table rows", "Write SELECT ... FROM rows")
        return self

    @property
    def described(self) -> str:
        if self.where:
            return f"keep rows where `{self.where}`"
        return f"`{self.sql}`" if self.sql else f"`{self.function}` in logic.py"

    @property
    def condition(self) -> str | None:
        return self.where

    @property
    def keeps_rows(self) -> bool:
        return self.where is not None

    @property
    def balance(self) -> Balance:
        only_fewer = (
            self.where is not None
        )  # Sluice cannot know how many rows SQL or a function returns
        return Balance(
            counted_in="rows", drops_duplicates=False, only_fewer=only_fewer, several_per_key=False
        )

    @property
    def logic(self) -> str | None:
        return self.function

    def with_expressions(self, was: Mapping[str, Any]) -> Self:
        named = [name for name in ("where", "sql") if was[name] and getattr(self, name) is not None]
        return self.model_copy(update={name: was[name] for name in named})

    def columns_after(self, columns: Columns) -> Columns:
        return columns if self.where else None

    def types_after(self, types: dict[str, str]) -> dict[str, str]:
        return types if self.where else {}

    def origins_after(self, origins: Origins, event_time: str | None) -> Origins:
        return origins if self.where else {}

    def carried(
        self,
        known: Mapping[str, Known],
        measured: Callable[[str], Known],
        yielded: Callable[[Field], Known],
    ) -> dict[str, Known]:
        return dict(known) if self.where else {}

    def time_after(self, event_time: str | None) -> str | None:
        return event_time

    def position_after(self, position: Position | None, ranges: Ranges) -> Position | None:
        return position if self.where else None
