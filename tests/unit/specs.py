"""A small, valid pipeline, and the same with something changed."""

from typing import Any

from spark_jobs.spec import Aggregate, Deduplicate, Field, GroupState, Pipeline, Topic, Tumbling

FIELDS = (
    Field(name="id", type="string"),
    Field(name="at", type="timestamp"),
    Field(name="shop", type="string"),
    Field(name="amount", type="bigint", required=False),
)


def topic(**changes: Any) -> Topic:
    """Sales, with an event time."""
    return Topic(**{"name": "sales", "fields": FIELDS, "event_time": "at"} | changes)


def deduplicate(**changes: Any) -> Deduplicate:
    """On the id, within the watermark."""
    return Deduplicate(**{"keys": ("id",)} | changes)


def aggregate(**changes: Any) -> Aggregate:
    """Hourly turnover by shop."""
    measures = {"sales": "count(*)", "turnover": "sum(amount)"}
    usual: dict[str, Any] = {
        "window": Tumbling(size="1 hour"),
        "keys": ("shop",),
        "measures": measures,
        "counts": "sales",
    }
    return Aggregate(**usual | changes)


def group_state(**changes: Any) -> GroupState:
    """State by shop."""
    return GroupState(
        **{"processor": "Shops", "keys": ("shop",), "output": (Field(name="shop", type="string"),)}
        | changes
    )


def in_buckets(**changes: Any) -> GroupState:
    """State by shop, many shops at once."""
    usual = {"form": "buckets", "buckets": 8, "processor": "shops", "time_mode": "none"}
    state = (Field(name="total", type="bigint"),)
    return group_state(**usual | {"state": state} | changes)


def pipeline(**changes: Any) -> Pipeline:
    """Sales by the hour."""
    steps = (deduplicate(), aggregate())
    usual: dict[str, Any] = {
        "name": "sales_hourly",
        "about": "Sales.",
        "topic": topic(),
        "watermark_delay": "2 hours",
    }
    return Pipeline(**usual | {"steps": steps} | changes)
