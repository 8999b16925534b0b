"""Checks as data: which Great Expectations expectation, with which arguments, and how much it weighs."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.contract.errors import SpecInvalid
from spark_jobs.contract.model import Model, refuse

Severity = Literal["critical", "warning", "info"]

STATE_METRICS: dict[str, str] = {
    "unaccounted": "records that the account cannot explain; always 0",
    "rows_read": "records that Spark read from Kafka in this run",
    "state_rows": "keys and groups in the state stores when the run ended",
    "state_bytes": "memory that the state stores used when the run ended",
    "state_growth": "state rows gained in this run, for each row that entered the first stateful step",
    "late_share": "late records as a share of the decoded ones",
    "malformed_share": "malformed records as a share of those read",
    "premature_share": "premature records as a share of those read",
    "duplicate_share": "duplicates as a share of the accepted records",
    "watermark_lag_seconds": "largest event time seen less the watermark; null before the first batch",
    "behind_watermark_seconds": "how far the watermark has moved since a batch last evicted by it; 0 after a whole run",
    "still_batches": "batches in a row that took records in and no newer event time: the watermark stood still",
    "timers_per_row": "timers that are set and have not fired, for each row of state; null where a TTL or a list hides them",
}
"""The columns of the one-row frame that state checks judge, with their meaning."""


class Check(Model):
    """One expectation. `type` is GX's snake-case name, as in expect_column_values_to_not_be_null."""

    type: str = Described(description="GX's name of the expectation", pattern=r"^expect_[a-z0-9_]+$")
    kwargs: dict[str, Any] = Described(default_factory=dict, description="its arguments, as GX takes them")
    severity: Severity = Described(default="critical", description="critical stops publishing; warning is shown")
    about: str = Described(default="", description="why it matters and what to look at when it fails")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        named = [self.kwargs[name] for name in ("column", "column_A", "column_B") if name in self.kwargs]
        return (*named, *self.kwargs.get("column_list", ()), *self.kwargs.get("column_set", ()))

    @model_validator(mode="after")
    def _no_severity_twice(self) -> Self:
        if "severity" in self.kwargs or "result_format" in self.kwargs:
            refuse("kwargs", sorted(self.kwargs), "severity and result_format are Sluice's to set",
                   "Use the check's own field severity")
        return self


def within(column: str, most: float, *, severity: Severity = "warning", about: str = "") -> Check:
    """A state check: `column` (one of STATE_METRICS) is at most `most`."""
    if column not in STATE_METRICS:
        raise SpecInvalid(f"within: column is {column!r}: it is not a state metric.", f"Use one of {', '.join(STATE_METRICS)}.")
    return Check(
        type="expect_column_values_to_be_between",
        kwargs={"column": column, "max_value": most},
        severity=severity,
        about=about or STATE_METRICS[column],
    )
