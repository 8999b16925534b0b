"""The records of an Aggregate: entered, written and open must balance; where one of them is not
known, nothing is claimed.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from upath import UPath

from spark_jobs.audit.counting import Counting, Grouped, counting as counting_of
from spark_jobs.audit.progress import Progress
from spark_jobs.audit.record_counts import RecordCounts
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import StateUse
from spark_jobs.runs import evaluation as module
from spark_jobs.runs.evaluation import OpenGroups, Unjudged, open_groups
from spark_jobs.spec import Session, Sliding, State, Transform
from spark_jobs.spec.analysis.state_checks import GROUPS, counting_step, state_checks_of
from spark_jobs.state.open_groups import MOST_STATE_ROWS
from tests.unit.specs import aggregate, deduplicate, pipeline

BOUNDED = {"state": State(budget_rows=100)}


@pytest.mark.parametrize(
    ("changes", "index"),
    [
        ({"steps": (aggregate(),)}, 0),
        ({"steps": (Transform(where="amount > 0"), deduplicate(), aggregate())}, 2),
        ({"steps": (deduplicate(), aggregate(window=Session(gap="1 hour")))}, 1),
        ({"steps": (aggregate(window=None),), "output_mode": "update"} | BOUNDED, 0),
        ({"steps": (aggregate(),), "output_mode": "complete"} | BOUNDED, 0),
        ({"steps": (aggregate(),), "output_mode": "update"}, None),
        ({"steps": (deduplicate(), aggregate(window=Sliding(size="2 hours", slide="1 hour")))}, None),
        ({"steps": (deduplicate(), aggregate(counts=None))}, None),
        ({"steps": (deduplicate(),)}, None),
    ],
)  # fmt: skip
def test_the_records_can_be_balanced_where_each_is_in_one_group_and_no_group_goes_without_its_row(
    changes, index
):
    spec = pipeline(**changes)
    assert counting_step(spec) == index
    assert (GROUPS in state_checks_of(spec)) == (index is not None)


def counting(*steps: Any, **changes: Any) -> Counting:
    found = counting_of(pipeline(steps=steps, **changes))
    assert found is not None
    return found


def progress(**observed: dict[str, int]) -> Progress:
    return Progress(7, 1.0, 100, observed, ())


def test_what_entered_is_what_was_accepted_or_what_the_step_before_let_through():
    account = Account(accepted=90)
    seen = progress(after_0={"rows": 80, "counted": 60}, after_1={"rows": 5, "counted": 70})
    assert counting(aggregate()).observed(seen, account, {}) == Grouped(90, 60)
    assert counting(deduplicate(), aggregate()).observed(seen, account, {}) == Grouped(80, 70)
    complete = counting(aggregate(), output_mode="complete", **BOUNDED)
    assert complete.observed(seen, account, {}) == Grouped(90, 0), "its groups stay open"


def balanced(monkeypatch, now, cursor, waiting) -> OpenGroups:
    monkeypatch.setattr(module, "_records", lambda *_: now)
    run: Any = SimpleNamespace(spec=pipeline())
    return open_groups(run, cursor, waiting)


LATER = Cursor(audited=5, judged=3, open_records=40)


@pytest.mark.parametrize(("now", "unaccounted"), [(50, 0), (49, 1), (53, 3)])
def test_what_was_open_and_what_entered_is_open_or_written(monkeypatch, now, unaccounted):
    waiting = Unjudged((4, 5), grouped=Grouped(30, 20))
    assert balanced(monkeypatch, now, LATER, waiting) == OpenGroups(now, unaccounted)


def test_before_the_first_verdict_nothing_was_open(monkeypatch):
    waiting = Unjudged((0,), grouped=Grouped(30, 20))
    assert balanced(monkeypatch, 10, Cursor(audited=0), waiting) == OpenGroups(10, 0)


@pytest.mark.parametrize(
    ("now", "cursor", "waiting"),
    [
        (50, LATER, Unjudged((4, 5), grouped=None)),
        (50, LATER.model_copy(update={"open_records": None}), Unjudged((4,), grouped=Grouped(1, 1))),
        (None, LATER, Unjudged((4,), grouped=Grouped(30, 20))),
    ],
    ids=["progress was lost", "accepted or rewound", "the state is not there"],
)  # fmt: skip
def test_where_a_part_is_not_known_nothing_is_claimed_and_the_next_run_can_begin_from_now(
    monkeypatch, now, cursor, waiting
):
    assert balanced(monkeypatch, now, cursor, waiting) == OpenGroups(now, None)


def test_a_run_without_a_batch_reads_no_state(monkeypatch):
    assert balanced(monkeypatch, 99, LATER, Unjudged()) == OpenGroups(40, None)


def test_state_that_would_take_long_to_read_is_not_read(monkeypatch):
    large = LATER.model_copy(update={"state": StateUse(rows=MOST_STATE_ROWS + 1)})
    waiting = Unjudged((4, 5), grouped=Grouped(30, 20))
    assert balanced(monkeypatch, 50, large, waiting) == OpenGroups()


def test_of_a_lost_batch_from_which_kafka_may_have_removed_records_nothing_is_claimed():
    first, table = counting(aggregate()), UPath("table")
    found, account = RecordCounts(read=90, accepted=90), Account(accepted=90)
    assert first.again(table, account, {}, found, None) == Grouped(90, 0)
    assert first.again(table, account, {}, found._replace(compacted=True), None) is None
    assert first.again(table, account.model_copy(update={"unknown": 1}), {}, found, None) is None
    behind = counting(deduplicate(), aggregate())
    assert behind.again(table, account, {}, found, None) is None
    assert behind.again(table, account, {}, found._replace(fresh=70), None) == Grouped(70, 0)
    assert behind.again(table, account, {}, None, None) == Grouped(0, 0), "a batch without data"
