"""Which rows newer versions of tables beside the stream would make otherwise, and which repairs
settle that: marks, without Spark.
"""

from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.admin.care import settled_steps
from spark_jobs.errors import RecordsUnreachable
from spark_jobs.ops.outdated import MOST, put
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.repair.find.ranges_due import RUN_PREFIX, touched, untried
from spark_jobs.spec import Transform
from spark_jobs.storage.pin import Changed, Pin
from spark_jobs.values.spans import MICROSECOND, Span
from tests.harness.turns import held_by
from tests.unit.checkpoints import Alone
from tests.unit.marked import DAY, Marked, days, drained, ten_days
from tests.unit.specs import aggregate, deduplicate

pytestmark = held_by("unit/test_upstream_any_order.py", "spark/test_upstream.py")


@pytest.fixture
def root(tmp_path) -> Marked:
    """Ten days are drained with version 0; those before the eighth are final."""
    return drained(tmp_path)


def test_the_first_version_of_a_table_marks_nothing(root):
    assert root.told("outdated") == []
    assert (root.due, root.states) == ([], "cccccccc" + "oo")


def test_a_version_that_changes_nothing_that_is_used_marks_nothing(root):
    root.has("1", 0, 1)
    root.begin()
    assert root.told("outdated") == []
    assert root.due == []


def test_a_changed_key_marks_the_days_that_have_it_and_no_other(root):
    root.has("1", 0, 1, "b")
    root.begin()
    assert root.due == [2, 5]
    assert root.states == "ccxccxcc" + "oo"
    [row] = root.told("outdated")
    assert row.pop("noted_at") <= datetime.now(UTC)
    assert row == {
        "pipeline": "sales_hourly", "generation": "g1", "input": "shops", "table_id": "1",
        "version": 1, "key": '{"shop_id": "b"}', "start": None, "end": None, "batch": 9,
    }  # fmt: skip
    assert [each.outdated for each in coverage(root.spec, root.paths).intervals] == [
        0, 0, 1, 0, 0, 1, 0, 0, 1, 0,
    ]  # fmt: skip


def test_a_change_of_some_times_marks_the_days_of_these(root):
    root.has("1", 0, 1, ("a", 3, 6), ("b", 5, None), ("c", None, 5), ("c", 7, 9))
    root.begin()
    assert root.due == [3, 4, 5]
    assert root.states == "cccxxxcc" + "oo", "b is in days 5 and 8, and c in day 5 alone"


def test_of_a_change_of_any_key_all_days_are_outdated_that_were_read_without_it(root):
    root.has("1", 0, 1, None)
    root.begin()
    assert root.due == [*range(8)]
    root.drain(10, 11)  # with it
    root.moved_on(12)
    assert root.due == [*ten_days()]
    assert root.states == "x" * 10 + "cc"


def test_rows_of_later_batches_have_the_new_version(root):
    root.has("1", 0, 1, "a")
    root.drain(10, 11)
    root.sells("a", 10, 11)
    root.moved_on(12)
    assert root.due == [*ten_days()]


def test_days_that_drains_still_write_are_outdated_once_they_are_final(root):
    root.has("1", 0, 1, "b")
    root.begin()
    assert root.due == [2, 5]
    root.moved_on(10)
    assert root.due == [2, 5, 8]


def test_a_repair_with_the_version_settles_the_days_that_it_has_computed(root):
    root.has("1", 0, 1, "b")
    root.begin()
    root.repaired("r1", days(1, 4))
    assert root.due == [5]
    root.repaired("r2", days(5), state="canonical", table_version=None, table_version_before=2)
    assert root.due == []
    assert root.states == "cccccccc" + "oo"


def test_half_a_day_that_is_not_computed_stays_outdated(root):
    root.has("1", 0, 1, "b")
    root.begin()
    noon = DAY + timedelta(days=2, hours=12)
    root.repaired("r1", days(2)._replace(end=noon), days(5))
    [left] = root.outdated.ranges(root.until)
    assert left.span == days(2)._replace(start=noon)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"inputs": {"shops": Pin(table_id="1", version=0)}}, "an older version"),
        ({"inputs": {"shops": Pin(table_id="0", version=7)}}, "another table's"),
        ({"inputs": {"carriers": Pin(table_id="1", version=1)}}, "of another input"),
        ({"state": "staged"}, "not in the table"),
        ({"state": "undone"}, "in the table no more"),
        ({"kind": "verify", "state": "canonical"}, "no repair"),
        ({"generation": "g0"}, "of a checkpoint that is gone"),
        ({"inputs": {}}, "of an older Sluice"),
    ],
    ids=lambda given: given.replace(" ", "_") if isinstance(given, str) else "",
)
def test_other_repairs_settle_nothing(root, more, why):
    root.has("1", 0, 1, "b")
    root.begin()
    root.repaired("r1", days(0, 8), **more)
    assert root.due == [2, 5], why


def test_an_undo_makes_its_days_outdated_again(root):
    root.has("1", 0, 1, "b")
    root.begin()
    root.repaired("r1", days(0, 8))
    assert root.due == []
    root.repaired("r1", days(0, 8), state="undone")
    root.repaired("r1/undo", days(0, 8), inputs={})
    assert root.due == [2, 5]


def test_of_two_repairs_of_a_day_the_later_one_counts(root):
    """One was computed first, and swapped in when a person had agreed to it."""
    root.has("1", 0, 1, "b")
    root.begin()
    root.repaired("r2", days(0, 8), state="canonical", table_version=None, table_version_before=3)
    assert root.due == []
    older = {"shops": Pin(table_id="1", version=0)}
    root.repaired("r1", days(2), inputs=older, table_version=4)
    assert root.due == [2]
    root.repaired("r3", days(2), state="canonical", table_version=None, table_version_before=4)
    assert root.due == []


def test_each_version_is_settled_by_itself(root):
    root.has("1", 0, 1, "b")
    root.begin()
    root.repaired("r1", days(0, 4))
    root.has("1", 0, 2, "c")
    root.begin()
    assert root.due == [5]
    root.repaired("r2", days(5), inputs={"shops": Pin(table_id="1", version=1)})
    assert root.due == [5], "the newer one is not in its rows"
    root.repaired("r3", days(5))
    assert root.due == []


def test_of_two_versions_between_two_runs_all_changes_are_marked(root):
    root.has("1", 0, 1, "b")
    root.has("1", 0, 2, "c")
    root.begin()
    assert root.due == [2, 5]
    assert {row["version"] for row in root.told("outdated")} == {2}
    root.repaired("r1", days(0, 8), inputs={"shops": Pin(table_id="1", version=1)})
    assert root.due == [2, 5]
    root.repaired("r2", days(0, 8))
    assert root.due == []


def test_a_kill_before_the_version_is_noted_loses_nothing_and_doubles_nothing(root):
    root.has("1", 0, 1, "b")
    root.begin(killed="marked")
    assert root.due == [], "no run has noted it: a repair would still have the version before"
    root.begin()
    assert (root.due, len(root.told("outdated"))) == ([2, 5], 1)
    root.begin()
    assert len(root.told("outdated")) == 1
    root.has("1", 0, 2, "c")
    root.begin(killed="marked")
    root.has("1", 0, 3, "a")
    root.begin()
    assert root.due == [*range(8)]
    root.repaired("r1", days(0, 8))
    assert root.due == []


@pytest.mark.parametrize("now", [("1", 1, 1), ("2", 0, 0)], ids=["vacuumed", "made anew"])
def test_of_a_version_that_nobody_can_compare_all_rows_are_outdated(root, now):
    root.has(*now)
    root.begin()
    assert root.due == [*range(8)]
    assert [row["key"] for row in root.told("outdated")] == [None]
    root.repaired("r1", days(0, 8), inputs={"shops": Pin(table_id="1", version=0)})
    assert root.due == [*range(8)]
    root.repaired("r2", days(0, 8), inputs={"shops": Pin(table_id=now[0], version=now[2])})
    assert root.due == []


def test_a_table_made_anew_counts_its_versions_from_0_and_their_marks_are_others(root):
    root.has("1", 0, 7, "b")
    root.begin()
    root.has("2", 0, 7, "c")
    root.begin()
    root.has("2", 0, 8, "c")
    root.begin()
    assert len(root.told("outdated")) == 3
    root.repaired("r1", days(0, 8), inputs={"shops": Pin(table_id="2", version=7)})
    assert root.due == [5]


def test_where_a_backup_of_the_table_was_put_back_no_repair_of_before_settles_anything(root):
    root.has("1", 0, 7, "b")
    root.begin()
    root.repaired("r1", days(0, 8))
    assert root.due == []
    root.has("1", 0, 5, "c")
    root.begin()
    assert root.due == [*range(8)]
    root.repaired("r2", days(0, 6))
    root.has("1", 0, 6, "c")
    root.begin()
    assert root.due == [5, 6, 7]


def test_nor_does_one_once_the_table_has_that_version_again(root):
    root.has("1", 0, 7, "b")
    root.begin()
    root.repaired("r1", days(0, 8))
    root.has("1", 0, 5, "c")
    root.begin()
    root.has("1", 0, 8, "c")
    root.begin()
    assert root.due == [*range(8)]


def test_behind_a_rewind_the_next_run_marks_what_the_rows_have_not(root):
    root.has("1", 0, 1, "b")
    root.drain(10)
    root.has("1", 0, 2, "c")
    root.begin()
    root.rewound(9)
    assert root.due == [2, 5], "version 1 is noted for batch 10, and a repair would read it"
    root.begin()
    assert root.due == [2, 5]
    assert {row["batch"] for row in root.told("outdated") if row["version"] == 2} == {9}
    root.repaired("r1", days(0, 8))
    assert root.due == []


def test_a_new_checkpoint_has_no_marks_of_the_one_before(root):
    root.has("1", 0, 1, "b")
    root.begin()
    root.identified("g2")
    assert root.due == []


def test_a_version_that_a_half_done_batch_has_read_stays_until_it_is_done(root):
    root.has("1", 0, 1, "b")
    root.begin(in_table=10)
    assert root.told("outdated") == []


@pytest.mark.parametrize(
    ("behind", "by", "wanted"),
    [
        ((deduplicate(), aggregate()), {"shop_id": "shop"}, [2, 5]),
        ((deduplicate(), aggregate()), {"shop_id": "id"}, "all"),
        ((deduplicate(), aggregate()), {}, "all"),
        ((deduplicate(), aggregate(keys=())), {"shop_id": "shop"}, "all"),
        ((deduplicate(keys=("shop",)), aggregate()), {"shop_id": "shop"}, [2, 5]),
        ((Transform(where="amount > 1"), deduplicate(), aggregate()), {"shop_id": "shop"}, "all"),
        ((deduplicate(), aggregate(), Transform(where="sales > 1")), {"shop_id": "shop"}, "all"),
    ],
    ids=["in it", "not in it", "unknown", "not grouped by", "distinct by it", "filter", "having"],
)
def test_the_table_is_asked_for_days_only_where_it_has_each_row_of_a_key(
    tmp_path, behind, by, wanted
):
    root = drained(tmp_path, *behind, by=by)
    root.has("1", 0, 1, "b")
    root.begin()
    assert root.due == ([*range(8)] if wanted == "all" else wanted)


def test_of_too_many_changes_there_is_one_mark_of_all_keys_and_their_times(root):
    many = [(f"shop {n}", 3, 4 + n % 2) for n in range(MOST + 1)]
    root.has("1", 0, 1, *many)
    root.begin()
    [row] = root.told("outdated", '"key", start, "end"')
    assert row == {"key": None, "start": days(3).start, "end": days(4).end}
    assert root.due == [3, 4]


def test_times_that_no_range_has_are_for_ever(root):
    key = '{"shop_id": "b"}'
    own = ("g1",), "shops", Pin(table_id="1", version=1), 9
    far = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)]
    changes = [Changed(key, *far), Changed(key, None, far[0]), Changed(key, far[1], None)]
    put(root.paths.root, root.spec.name, *own, changes, Alone())
    [row] = root.told("outdated", 'start, "end"')
    assert row == {"start": None, "end": None}


def test_where_nobody_knows_what_was_read_all_rows_count_and_no_time_without_one(root):
    """A run has noted it, and a batch that was killed before has no account yet."""
    root.has("1", 0, 1, None)
    root.begin()
    root.moved(audited=8)
    [left] = root.outdated.ranges(root.until)
    assert left.span == Span(DAY + timedelta(hours=12) - MICROSECOND, root.until)
    assert root.states == "x" * 8 + "oo"


def test_keys_are_found_whatever_is_in_them(root):
    odd = 'Ann\'s "shop" `x` \\ %'
    root.sells(odd, 4)
    root.has("1", 0, 1, odd)
    root.begin()
    assert root.due == [4]


def test_a_repair_takes_outdated_days_beside_those_of_late_records(root):
    root.has("1", 0, 1, "b")
    root.begin()
    assert untried(root.spec, root.paths) == 2
    root.late(5)
    found = touched(root.spec, root.paths)
    assert [((each.start - DAY).days, each.late, each.outdated) for each in found.ranges] == [
        (2, 0, 1), (5, 1, 1),
    ]  # fmt: skip
    assert untried(root.spec, root.paths) == 3


@pytest.mark.parametrize("state", ["failed", "rejected"])
def test_what_a_repair_has_tried_starts_no_other_one_until_a_newer_version(root, state):
    root.has("1", 0, 1, "b")
    root.begin()
    root.repaired("r1", days(2), state=state, horizon='{"0": 10}')
    assert (root.due, untried(root.spec, root.paths)) == ([2, 5], 1)
    root.has("1", 0, 2, "b")
    root.begin()
    assert untried(root.spec, root.paths) == 3


def test_what_a_repair_was_refused_for_starts_no_other_one_until_a_newer_version(root):
    root.has("1", 0, 1, "b")
    root.begin()
    own = {"pipeline": root.spec.name, "kind": "repair", "status": "failed"}
    own |= {"problem": RecordsUnreachable.code, "ended_at": datetime.now(UTC)}
    root.put("runs", own | {"run_id": f"{RUN_PREFIX}1"})
    assert untried(root.spec, root.paths) == 0
    root.has("1", 0, 2, "c")
    root.begin()
    assert untried(root.spec, root.paths) == 1


def test_without_state_a_repair_settles_only_what_batches_up_to_its_own_have_read(tmp_path):
    """Nothing is ever final: a later batch may write rows of any day, with the version before."""
    root = drained(tmp_path, Transform(where="amount > 1"))
    root.has("1", 0, 1, "b")
    root.begin()
    assert root.due == [*ten_days()]
    root.repaired("r1", days(0, 20), batch=8)
    assert root.due == [*ten_days()]
    root.repaired("r2", days(0, 20), batch=9)
    assert root.due == []


def test_maintain_forgets_changes_that_repairs_settled_which_nobody_can_take_back(root):
    root.moved_on(10)
    root.has("1", 0, 1, "b")
    root.begin()
    root.has("1", 0, 2, "c")
    root.begin()
    before = datetime.now(UTC) + timedelta(days=30)
    root.repaired("r1", days(0, 4), days(8, 9))
    first = {"shops": Pin(table_id="1", version=1)}
    root.repaired("r2", days(4, 8), inputs=first, swapped_at=before + timedelta(days=1))
    assert [*settled_steps(root.paths, root.spec, before)] == [], "r2 may be undone yet"
    root.repaired("r2", days(4, 8), inputs=first, table_version=2)
    [step] = settled_steps(root.paths, root.spec, before)
    step.execute(Alone())
    assert step.line.startswith("forget 1 changes of version 1 of shops")
    assert {row["version"] for row in root.told("outdated")} == {2}
    assert root.due == [5]


def test_of_many_spans_only_their_own_times_are_taken_out():
    """A repair has 64 at most; many repairs have more."""
    taken = [days(2 * n) for n in range(100)]
    assert days(0, 200).without(taken) == [days(2 * n + 1) for n in range(100)]
