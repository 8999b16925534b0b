"""The days of an asset event: which days became final, and which a repair changed."""

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from spark_jobs.runs.publish import days
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import Ranged
from tests.harness.listener import Listener
from tests.harness.roots import ROOT
from tests.unit.repaired import DAY, POSITION, SPEC, Root, hour, hours, row

LISTENERS: dict[Any, Listener] = defaultdict(Listener)
"""Root -> who has the events of it."""


@pytest.fixture
def root(tmp_path, monkeypatch) -> Root:
    """The watermark of batch n is the beginning of hour n, and hour 0 begins a day."""
    # The table's columns are not called as the spec's.
    monkeypatch.setattr(days, "ranged", lambda spec: Ranged(spec, POSITION))
    return Root(tmp_path / ROOT, hourly=True)


def told(root: Root, spec: Pipeline = SPEC) -> list[str] | None:
    """The days of the next event."""
    event = LISTENERS[root.paths.root].publish(root.paths, spec)
    return None if event is None else event.model_dump(mode="json")["days"]


def test_a_day_is_told_once_when_drains_write_no_row_of_it_any_more(root):
    root.drain(0, 23)
    assert told(root) == [], "hour 23 can still have rows"
    root.drain(24, 24)
    assert told(root) == ["2026-03-01"]
    root.account_at(25, DAY + timedelta(hours=47))
    assert told(root) == []
    root.account_at(26, DAY + timedelta(hours=48))
    assert told(root) == ["2026-03-02"]
    LISTENERS[root.paths.root].events.pop()
    assert told(root) == ["2026-03-02"], "Airflow never had that event"


def test_several_days_that_end_at_once_are_told_together_also_those_without_a_row(root):
    root.drain(0, 1)
    assert told(root) == []
    root.account_at(2, DAY + timedelta(days=3, hours=1))
    assert told(root) == ["2026-03-01", "2026-03-02", "2026-03-03"]


def test_the_first_event_has_the_days_with_rows_and_none_between_them(root):
    """A record may say that it is of 1970: it makes no ten thousand days."""
    root.append([row(-400_000, "a")])
    root.account_at(0, DAY + timedelta(hours=25))
    old = (hour(-400_000) - timedelta(microseconds=1)).date()
    assert told(root) == [str(old), "2026-03-01"]


def test_after_a_gap_of_years_only_the_days_with_rows_are_told(root):
    """The first records may be of 1970: each of the days since would start its consumers."""
    root.append([row(-400_000, "a")])
    root.account_at(0, hour(-400_000))
    assert told(root) == []
    old = (hour(-400_000) - timedelta(microseconds=1)).date()
    root.account_at(1, DAY + timedelta(hours=25))
    assert told(root) == [str(old), "2026-03-01"]


def test_a_repair_tells_the_days_in_which_rows_changed_and_no_other_that_it_computed(root):
    root.drain(0, 50)
    assert told(root) == ["2026-03-01", "2026-03-02"]
    # The window of hour 23 ends at midnight, and is of the day before.
    root.stage("r1", [(row(23, "a"), row(23, "a", 2))], spans=(hours(0, 47),))
    root.swap("r1")
    assert told(root) == ["2026-03-01"]
    root.undo("r1")
    assert told(root) == ["2026-03-01"], "an undo changes them again"


def test_a_table_whose_ranges_cannot_be_computed_again_has_no_days(root):
    root.drain(0, 25)
    assert told(root, SPEC.model_copy(update={"output_mode": "complete"})) == []


def test_a_row_of_the_year_1_keeps_no_day_from_being_told(root):
    """Go's zero time is one. delta-rs cannot truncate it to its day."""
    root.append([row(0, "a") | {"windowEnd": datetime(1, 1, 1, 1, tzinfo=UTC)}])
    root.account_at(0, DAY + timedelta(hours=25))
    assert told(root) == ["2026-03-01"]
