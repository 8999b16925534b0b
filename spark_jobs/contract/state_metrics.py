"""State metrics: what the state checks judge after a run. A new metric is a field here, with its meaning."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field as Described


class StateMetrics(BaseModel):
    """The one row that Great Expectations judges: a column a field. None becomes null, which no bound refuses."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unaccounted: int = Described(description="records that the account cannot explain; always 0")
    rows_read: int = Described(description="records that Spark read from Kafka in this run")
    state_rows: int = Described(description="keys and groups in the state stores when the run ended")
    state_bytes: int = Described(description="memory that the state stores used when the run ended")
    state_growth: float = Described(
        description="state rows gained in this run, for each row that entered the first stateful step")
    late_share: float = Described(description="late records as a share of the decoded ones")
    malformed_share: float = Described(description="malformed records as a share of those read")
    premature_share: float = Described(description="premature records as a share of those read")
    duplicate_share: float = Described(description="duplicates as a share of the accepted records")
    watermark_lag_seconds: float | None = Described(
        description="largest event time seen less the watermark; null before the first batch")
    behind_watermark_seconds: float | None = Described(
        description="how far the watermark has moved since a batch last evicted by it; 0 after a whole run")
    still_batches: int = Described(
        description="batches in a row that took records in and no newer event time: the watermark stood still")
    timers_per_row: float | None = Described(
        description="timers that are set and have not fired, for each row of state; null where a TTL or a list hides them")


STATE_METRICS: dict[str, str] = {name: field.description or "" for name, field in StateMetrics.model_fields.items()}
"""Metric -> its meaning."""
