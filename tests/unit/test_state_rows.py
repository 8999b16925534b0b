"""The rows of a new state, added up from what each batch put and removed."""

import pytest

from spark_jobs.runs.watch.follower import StateRows, adds_up
from spark_jobs.spec import Session, State
from tests.unit.specs import aggregate, deduplicate, group_state, in_buckets, pipeline

BUDGET = State(budget_rows=1000)


def test_a_state_has_what_its_batches_put_less_what_they_removed_of_each_step():
    rows = StateRows()
    assert [rows.after(0, [7, 3]), rows.after(1, [-4, 2]), rows.after(2, [0, -5])] == [
        [7, 3],
        [3, 5],
        [3, 0],
    ]


def test_behind_a_batch_that_nobody_saw_the_rows_are_not_known():
    rows = StateRows()
    rows.after(0, [7])
    assert [rows.after(number, [1]) for number in (2, 3)] == [[None], [None]]


@pytest.mark.parametrize(
    ("adds", "changes"),
    [
        (True, {}),
        (True, {"steps": (deduplicate(),), "max_offsets_per_batch": 9}),
        (False, {"max_offsets_per_batch": 9}),
        (False, {"steps": (deduplicate(), aggregate(window=Session(gap="1 hour")))}),
        (False, {"steps": (group_state(),)}),
        (False, {"steps": (in_buckets(),), "state": BUDGET}),
        (True, {"steps": (aggregate(window=None),), "output_mode": "update", "state": BUDGET}),
        (False, {"steps": (aggregate(window=None),), "output_mode": "complete", "state": BUDGET}),
    ],
)
def test_only_where_each_row_that_is_put_is_new_they_are_added_up(adds, changes):
    assert adds_up(pipeline(**changes)) is adds
