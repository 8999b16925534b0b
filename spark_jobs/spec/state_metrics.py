"""State metrics: what the state checks evaluate after a run.

A new metric is a field here, with its meaning; runs/judge/state_metrics.py computes it, and
state_checks.py has the checks that every pipeline gets; docs/reference.md lists each.
"""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field as Described


class StateMetrics(BaseModel):
    """The one row that Great Expectations checks: each field is a column.

    None becomes null, and null passes every bound. Beside them are those of rules
    (checks/rule_share.py).
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    unaccounted: int | None = Described(
        description="mismatches that the account cannot explain; must be 0; null where the "
        "progress of a batch was lost and nothing says how many rows it must have"
    )
    groups_unaccounted: int | None = Described(
        description="difference between the records that entered an Aggregate with `counts` and "
        "those in its state and in the rows written; must be 0; null where it cannot be known"
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
        default=None,
        description="seconds since a run has accepted a record; null before the first",
    )
    event_age_seconds: float | None = Described(
        default=None,
        description="the same by the newest event time",
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
OF_THE_REJECTED: Final = frozenset(
    {"nothing_accepted", "malformed_share", "premature_share", "rejected_share", "late_share"}
)
"""Those by which too little was accepted of what was read."""
