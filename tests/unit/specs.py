"""A small, valid pipeline, and the same with something changed."""

import uuid
from pathlib import Path
from typing import Any

import pytest

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


class Apart(Deduplicate):
    """A step that takes topics apart."""

    of: tuple[str, ...] = ("eu", "us")
    takes = property(lambda self: self.of)


EU = topic(name="eu")
FEWER = topic(name="us", fields=(*FIELDS[:2], Field(name="paid", type="double")))
TWO_APART: dict[str, Any] = {"topics": (EU, FEWER), "topic": None, "steps": (Apart(keys=("id",)),)}
"""Two topics with fields of their own, which a step takes apart."""


def pipeline(**changes: Any) -> Pipeline:
    """Sales by the hour."""
    steps = (deduplicate(), aggregate())
    usual: dict[str, Any] = {
        "name": "sales_hourly", "about": "Sales.", "topic": topic(), "watermark_delay": "2 hours",
    }  # fmt: skip
    return Pipeline(**usual | {"steps": steps} | changes)


def deployed(
    folder: Path, patch: pytest.MonkeyPatch, text: str, name: str = "sales_hourly", **more: str
):
    """This spec.py, and `more` by their pipelines' names, are all that is installed: in a package of
    their own, since a module is loaded once.
    """
    package = f"deployed_{uuid.uuid4().hex[:6]}"
    for each, own in ({name: text} | more).items():
        at = folder / package / each
        at.mkdir(parents=True)
        (at / "spec.py").write_text(own)
        (at / "__init__.py").touch()
    (folder / package / "__init__.py").touch()
    patch.syspath_prepend(str(folder))
    patch.setenv("SLUICE_PIPELINES", package)


OURS = "from tests.unit.specs import pipeline\n\nSPEC = pipeline()\n"
"""The spec.py of the pipeline."""
