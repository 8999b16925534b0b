"""Checks as data: a Great Expectations (GX) expectation, its arguments and its severity."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field as Described, model_validator

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec.fields.field import Name
from spark_jobs.spec.model import Model, refuse
from spark_jobs.spec.sql import SqlKeys, refuse_unsafe


class StateMetrics(BaseModel):
    """The one row that Great Expectations checks: each field is a column.

    None becomes null, and null passes every bound. Beside them are those of rules (rule.py).
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    unaccounted: int | None = Described(
        description="mismatches that the account cannot explain; must be 0; null where the "
        "progress of a batch was lost and nothing says how many rows it must have"
    )
    groups_unaccounted: int | None = Described(
        description="what entered an Aggregate with `counts`, or a Join as left rows, less state "
        "and rows written; must be 0; null where it cannot be known"
    )
    rows_read: int = Described(description="records that Spark read from Kafka in this run")
    state_rows: int = Described(
        description="keys and groups in the state stores when the run ended"
    )
    state_bytes: int = Described(
        description="bytes of memory and of RocksDB's files that the state used when the run ended"
    )
    state_growth: float = Described(
        description="rows of state gained in this run, per row that entered the first stateful step"
    )
    late_share: float = Described(description="late records as a share of the decoded ones")
    malformed_share: float = Described(description="malformed records as a share of those read")
    premature_share: float = Described(description="premature records as a share of those read")
    rejected_share: float = Described(
        description="malformed, premature and late records as a share of those read"
    )
    nothing_accepted: int = Described(
        description="1 if records were read and none was accepted; those that a condition of the "
        "spec filtered are no reason once the pipeline has accepted records. Else 0"
    )
    truncates: int = Described(
        default=0, description="truncates of the source's table that Debezium told of"
    )
    duplicate_share: float | None = Described(
        description="duplicates as a share of the accepted records; null where they are not known"
    )
    watermark_lag_seconds: float | None = Described(
        description="largest event time seen minus the watermark, in seconds; null before the "
        "first batch"
    )
    behind_watermark_seconds: float | None = Described(
        description="seconds that the watermark has moved since a batch last evicted by it; 0 "
        "after a complete run"
    )
    still_batches: int = Described(
        description="consecutive batches that read records but no newer event time: the watermark "
        "stood still"
    )
    archive_lag: float | None = Described(
        default=None,
        description="of an archive: records that waited when the run began, per record that Kafka "
        "still had before them. Above 1, retention overtakes the archive if as many wait again; "
        "null while retention has removed nothing",
    )
    remembered_share: float | None = Described(
        default=None, description="deletes that a Latest's table remembers, per row that it has"
    )
    accepted_age_seconds: float | None = Described(
        default=None, description="seconds since a run has accepted a record; null before the first"
    )
    event_age_seconds: float | None = Described(
        default=None, description="the same by the newest event time"
    )
    volume_of_hour: float | None = Described(
        default=None,
        description="records accepted in the last hour, or since the last batch that passed, by "
        "the median of the same in 4 weeks; null where one is not known, the median is "
        "0, or a limit ended the run. A run's records count evenly in the time since the run "
        "before",
    )
    volume_of_day: float | None = Described(
        default=None, description="the same of the last 24 hours"
    )
    timers_per_row: float | None = Described(
        description="timers that are set and have not fired, per row of state; null where TTL or "
        "list state hides them"
    )


STATE_METRICS: dict[str, str] = {
    name: field.description or "" for name, field in StateMetrics.model_fields.items()
}
"""Metric -> its meaning."""
OF_THE_ACCOUNT: Final = frozenset({"unaccounted", "groups_unaccounted"})
"""Those by which the account does not agree."""
Clock = Literal["run", "event_time"]
Of = Literal["hour", "day"]
AGES: Final[dict[Clock, str]] = {"run": "accepted_age_seconds", "event_time": "event_age_seconds"}
"""From what a record's age is counted -> the state metric."""
VOLUMES: Final[dict[Of, str]] = {"hour": "volume_of_hour", "day": "volume_of_day"}
"""Of what time records are compared -> the state metric."""
TIMELY: Final = frozenset({*AGES.values(), *VOLUMES.values()})
"""Those that change while nothing happens (timely.py)."""
OF_THE_REJECTED: Final = frozenset(
    {"nothing_accepted", "malformed_share", "premature_share", "rejected_share", "late_share"}
)
"""Those by which too little was accepted of what was read."""


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
    return _at_most(column, most, severity, about or STATE_METRICS[column])


class _Share(Model):
    """What the check of a share is given."""

    name: Name
    most: float = Described(ge=0, le=1, strict=False)


def share_check(prefix: str, name: str, most: float, severity: Severity, about: str) -> Check:
    """A state check: the metric of this name behind the prefix is at most `most`, from 0 to 1.
    Raises SpecInvalid.
    """
    asked = _Share(name=name, most=most)
    return _at_most(f"{prefix}{asked.name}", asked.most, severity, about)


def _at_most(column: str, most: float, severity: Severity, about: str) -> Check:
    kwargs = {"column": column, "max_value": most}
    kind = "expect_column_values_to_be_between"
    return Check(type=kind, kwargs=kwargs, severity=severity, about=about)
