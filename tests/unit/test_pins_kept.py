"""The note of the next batch stays where a checkpoint goes back or is copied: repairs that stay have
its versions, and later versions are held against these.
"""

import json
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.admin.care import settled_steps
from spark_jobs.checkpoint.notes.noted_versions import noted_now
from spark_jobs.storage.pin import Changed, Pin
from tests.unit import beside
from tests.unit.checkpoints import Alone
from tests.unit.marked import days, drained


def test_what_a_later_version_takes_back_is_marked_where_a_repair_has_it(tmp_path, monkeypatch):
    """Shop b has another value in version 1 alone: 2 has that of 0 again."""
    root = drained(tmp_path)
    differs = [Changed(json.dumps({"shop_id": "b"}), None, None)]
    monkeypatch.setattr(
        beside.NumberedSide,
        "changed",
        lambda _, __, since, until: iter(differs if 1 in {since.version, until.version} else ()),
    )
    root.has("1", 0, 1)
    root.begin()
    root.repaired("r1", days(0, 8))
    assert root.due == []
    root.rewound(9)  # as a repartition too: to the newest batch, behind which the repair came
    assert noted_now(root.checkpoint, root.spec) == {"shops": Pin(table_id="1", version=1)}
    assert root.due == []
    root.has("1", 0, 2)
    root.begin()
    assert root.due == [2, 5]


@pytest.mark.parametrize(
    "key", [{"shop_id": 7}, {"shop_id": True}, {"shop_id": ["b"]}, {"shop_id": 1.5}, {}]
)
def test_a_key_that_the_table_cannot_be_asked_for_marks_all_days_of_its_times(
    tmp_path, monkeypatch, key
):
    """Spark joins text with a number, and has its own rules for it."""
    root = drained(tmp_path)
    change = Changed(json.dumps(key), days(3).start, days(5).end)
    monkeypatch.setattr(beside.NumberedSide, "changed", lambda *_: iter([change]))
    root.has("1", 0, 1)
    root.begin()
    assert root.due == [3, 4, 5]


def test_of_a_key_with_null_no_row_is_outdated(tmp_path, monkeypatch):
    root = drained(tmp_path)
    change = Changed(json.dumps({"shop_id": None}), None, None)
    monkeypatch.setattr(beside.NumberedSide, "changed", lambda *_: iter([change]))
    root.has("1", 0, 1)
    root.begin()
    assert root.due == []


def test_maintain_forgets_no_change_whose_rows_are_in_open_windows_still(tmp_path):
    """A window of a topic in which nothing comes may be open for weeks."""
    root = drained(tmp_path)
    root.has("1", 0, 1, "d")
    root.begin()
    for step in settled_steps(root.paths, root.spec, datetime.now(UTC)):
        step.execute(Alone())
    root.sells("d", 3, 9)  # the last day's windows close
    root.moved_on(12)
    assert 9 in root.due


def test_a_repair_that_changes_no_row_unsettles_none(tmp_path):
    """It was planned before the version was noted, and ended last."""
    root = drained(tmp_path)
    root.has("1", 0, 1, "b")
    root.begin()
    found = {"state": "canonical", "table_version": None, "table_version_before": 3}
    root.repaired("r2", days(0, 8), **found)
    older = {"shops": Pin(table_id="1", version=0)}
    root.repaired("r1", days(0, 8), inputs=older, **found)
    root.repaired("r0", days(2), inputs=older, **found | {"table_version_before": 4})
    assert root.due == []
    root.repaired("r3", days(2), inputs=older, table_version=5)
    assert root.due == [2]


def test_maintain_forgets_no_change_that_a_newer_repair_has_taken_out_again(tmp_path):
    """A person agreed to it late: it has the version before."""
    root = drained(tmp_path)
    root.has("1", 0, 1, "b")
    root.begin()
    root.moved_on(10)
    now = datetime.now(UTC)
    root.repaired("r2", days(0, 10), swapped_at=now)
    older = {"shops": Pin(table_id="1", version=0)}
    root.repaired("r1", days(2), inputs=older, swapped_at=now + timedelta(days=200))
    assert root.due == [2]
    assert [*settled_steps(root.paths, root.spec, now + timedelta(days=7))] == []
    root.repaired("r3", days(2), swapped_at=now + timedelta(days=1))
    assert len([*settled_steps(root.paths, root.spec, now + timedelta(days=7))]) == 1
