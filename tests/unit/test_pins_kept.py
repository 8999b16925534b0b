"""The note of the next batch stays where a checkpoint goes back or is copied: repairs that stay have
its versions, and later versions are held against these.
"""

import json

import pytest

from spark_jobs.checkpoint.pins import noted_now
from spark_jobs.side.port import Changed, Pin
from tests.unit import beside
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
