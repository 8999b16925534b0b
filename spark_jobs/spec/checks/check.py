"""Checks as data: a Great Expectations (GX) expectation, its arguments and its severity."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec.model import Model, refuse
from spark_jobs.spec.sql.types import SqlKeys, refuse_unsafe
from spark_jobs.spec.state_metrics import STATE_METRICS

Severity = Literal["critical", "warning", "info"]
CONDITION: Final = "row_condition"
QUERIES: Final = ("unexpected_rows_query", "base_query", "comparison_query", "other_table_name")
"""Arguments of GX's by which an expectation reads something else than the rows."""
Arguments = Annotated[dict[str, Any], SqlKeys((CONDITION,))]
"""An expectation's arguments. Of GX's, these become SQL (tests/unit/test_sql.py)."""


class Check(Model):
    """One expectation. `type` is GX's snake-case name, for example
    expect_column_values_to_not_be_null.
    """

    type: str = Described(pattern=r"^expect_[a-z0-9_]+$")
    """GX's name of the expectation"""
    kwargs: Arguments = Described(default_factory=dict)
    """the expectation's arguments, under GX's names"""
    severity: Severity = "critical"
    """critical: a failed check stops publishing; warning, info: it is only logged"""
    about: str = ""
    """why the check matters, and what to look at when it fails"""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the arguments name."""
        named = [
            self.kwargs[name] for name in ("column", "column_A", "column_B") if name in self.kwargs
        ]
        return (*named, *self.kwargs.get("column_list", ()), *self.kwargs.get("column_set", ()))

    @model_validator(mode="after")
    def _only_rows(self) -> Self:
        """GX makes Spark SQL of any form of a row_condition: one form is left, which the guard
        reads.
        """
        if others := sorted(self.kwargs.keys() & {*QUERIES}):
            refuse("kwargs", others, "a check is given the rows alone", "Leave them out")
        condition = self.kwargs.get(CONDITION)
        parser = self.kwargs.get("condition_parser")
        if condition is None and parser is None:
            return self
        if not isinstance(condition, str) or parser != "spark":
            refuse(
                f"kwargs[{CONDITION!r}]",
                condition,
                "Sluice takes a condition as Spark SQL only, which it can judge",
                "Write it as Spark SQL, with 'condition_parser': 'spark'",
            )
        refuse_unsafe(f"kwargs[{CONDITION!r}]", condition)
        return self

    @model_validator(mode="after")
    def _no_severity_twice(self) -> Self:
        if "severity" in self.kwargs or "result_format" in self.kwargs:
            refuse(
                "kwargs",
                sorted(self.kwargs),
                "Sluice sets severity and result_format itself",
                "Leave them out of kwargs, and set the check's field severity",
            )
        return self


def within(column: str, most: float, *, severity: Severity = "warning", about: str = "") -> Check:
    """A state check: the metric `column` (docs/reference.md lists them) is at most `most`.

    Raises SpecInvalid for another column.
    """
    if column not in STATE_METRICS:
        raise SpecInvalid.no_state_metric(column=column, known=", ".join(STATE_METRICS))
    return Check(
        type="expect_column_values_to_be_between",
        kwargs={"column": column, "max_value": most},
        severity=severity,
        about=about or STATE_METRICS[column],
    )
