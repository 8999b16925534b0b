"""Every step and every output mode is known wherever they differ: a new one that is forgotten is
named here.
"""

from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules
from typing import get_args

import pytest

from spark_jobs.spec import (
    Aggregate,
    Deduplicate,
    Dimension,
    Field,
    GroupState,
    History,
    Join,
    Latest,
    Lookup,
    Session,
    Sliding,
    Topic,
    Transform,
    Tumbling,
    steps,
)
from spark_jobs.spec.output_mode import OutputMode, mode_facts
from spark_jobs.spec.steps.step import Step
from tests.unit.specs import aggregate, deduplicate, group_state, pipeline

SHOPS = Dimension(
    table="shops",
    key=("id",),
    valid=("since", "until"),
    fields=(Field(name="region", type="string"),),
)
FIELDS = (
    Field(name="id", type="string"),
    Field(name="at", type="timestamp"),
    Field(name="shop", type="string"),
    Field(name="amount", type="bigint"),
)
FLIGHTS = Topic(name="flights", fields=FIELDS, event_time="at")
SALES = Topic(name="sales", fields=FIELDS, event_time="at")
ONCE = {"flights": (deduplicate(),)}
JOIN = Join(
    left="sales", right="flights", on={"id": "id"}, within=("0 minutes", "30 minutes"), before=ONCE
).taking((SALES, FLIGHTS))
EXAMPLES: dict[type[Step], Step] = {
    Deduplicate: deduplicate(),
    Aggregate: aggregate(),
    GroupState: group_state(),
    Latest: Latest(keys=("id",), order_by=("at",)),
    History: History(keys=("id",), order_by=("at",)),
    Transform: Transform(where="amount > 0"),
    Lookup: Lookup(dimension=SHOPS, on={"id": "shop"}, missing="quarantine"),
    Join: JOIN,
}
STEPS: tuple[type[Step], ...] = tuple(EXAMPLES)
COLUMNS = ("id", "at", "shop", "amount")
TYPES = {"id": "string", "at": "timestamp", "shop": "string", "amount": "bigint"}


def test_every_step_has_an_example_here():
    modules = [
        import_module(each.name) for each in iter_modules(steps.__path__, "spark_jobs.spec.steps.")
    ]
    declared = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Step) and not isabstract(each)
    }
    assert declared == set(EXAMPLES)


@pytest.mark.parametrize("step", EXAMPLES.values(), ids=lambda step: step.kind)
def test_a_steps_facts_go_together(step):
    left = step.columns_after(COLUMNS)
    assert left is not None
    assert step.types_after(TYPES).keys() <= set(left)
    assert (step.rows_per_record > 0) == step.stateful == bool(step.state_key(COLUMNS))
    assert set(step.update_key or ()) <= set(left), "update mode merges on columns that are written"


def test_a_whole_rows_key_is_whatever_enters():
    step = deduplicate(keys=("*",))
    assert step.state_key(COLUMNS) == COLUMNS
    assert step.state_key(None) is None


def test_a_record_is_in_one_group_a_window():
    windows = {
        Tumbling(size="1 hour"): 1,
        Sliding(size="1 hour", slide="25 minutes"): 3,
        Session(gap="1 hour"): 1,
    }
    assert {window: aggregate(window=window).rows_per_record for window in windows} == windows


def test_each_output_mode_keeps_and_writes_as_it_says():
    true = {
        mode: {name for name, holds in mode_facts(mode)._asdict().items() if holds}
        for mode in get_args(OutputMode)
    }
    assert true == {
        "append": {"writes_evicted"},
        "update": {"writes_last_of_key"},
        "complete": {"keeps_all_state", "replaces_table"},
    }


def test_only_an_aggregate_with_a_window_groups_by_one():
    assert {type(step) for step in EXAMPLES.values() if step.grouping_window} == {Aggregate}
    assert aggregate(window=None).grouping_window is None


def test_the_entry_is_the_first_step_with_state_and_what_is_before_it_has_none():
    spec = pipeline(steps=(EXAMPLES[Transform], deduplicate(), aggregate()))
    assert (spec.before_state, spec.entry) == ((EXAMPLES[Transform],), deduplicate())
    assert pipeline(steps=(EXAMPLES[Transform],)).entry is None
