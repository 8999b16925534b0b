"""Every step has an operator in Spark, which says in words what state it keeps.

Nothing here starts Spark.
"""

import inspect
from typing import Any

import pytest

from spark_jobs.runs.explain import describe_state
from spark_jobs.spec import Field, Pipeline, State
from spark_jobs.steps.operator import Operator, StatefulOperator, operator, stateful_operator
from tests.unit.specs import aggregate, deduplicate, group_state, in_buckets, pipeline
from tests.unit.test_steps import EXAMPLES


def methods(protocol: type) -> dict[str, Any]:
    return {
        name: member
        for name, member in inspect.getmembers(protocol, inspect.isfunction)
        if not name.startswith("_")
    }


@pytest.mark.parametrize("step", EXAMPLES.values(), ids=lambda step: step.kind)
def test_every_step_has_an_operator_with_all_that_is_asked_of_it(step):
    found = operator(step)
    for name, asked in methods(StatefulOperator if step.stateful else Operator).items():
        given = getattr(type(found), name)
        assert given is not asked
        assert len(inspect.signature(given).parameters) == len(inspect.signature(asked).parameters)
    if step.stateful:
        assert all(
            (found.state(), found.predicates(), found.eviction(pipeline()))
            for found in [stateful_operator(step)]
        )


KEY = "the key is id; the value is the time when it expires"
NO_VALUE = "the key is id; it has no value"
BUFFERS = "the value has the buffers of sales, turnover"
PASSED = "evicted when the watermark has passed"
CLEARED = "evicted when the processor clears it"
NOTHING = "nothing evicts it: the budget is 1,000 rows"
BY_DATA = "late rows by the event time of the data"
BY_KEY = "watermark predicate on the key, for late rows and for eviction"
NONE = "no watermark predicate"


@pytest.mark.parametrize(
    ("step", "changes", "said"),
    [
        (deduplicate(), {}, (KEY, f"{PASSED} its event time plus 2 hours", f"{BY_DATA}, eviction by the stored value")),
        (deduplicate(keys=("id", "at"), scope="event_time"), {}, (NO_VALUE.replace("id", "id, at"), f"{PASSED} its event time", BY_KEY)),
        (deduplicate(scope="for_ever"), {"watermark_delay": None}, (NO_VALUE, NOTHING, NONE)),
        (deduplicate(scope="for_ever"), {}, (NO_VALUE, NOTHING, BY_DATA)),
        (aggregate(), {}, (f"the key is window_start, window_end, shop; {BUFFERS}", f"{PASSED} the window's end", BY_KEY)),
        (aggregate(window=None, keys=()), {"output_mode": "complete"}, (f"the key is empty, one group for all rows; {BUFFERS}", NOTHING, NONE)),
        (aggregate(), {"output_mode": "complete"}, (f"the key is window_start, window_end, shop; {BUFFERS}", NOTHING, NONE)),
        (aggregate(window=None), {"output_mode": "update"}, (f"the key is shop; {BUFFERS}", NOTHING, NONE)),
        (
            group_state(),
            {},
            (
                "the key is shop; the values are the variables that Shops declares in init",
                f"{CLEARED}, at the latest at an event-time timer",
                f"{BY_DATA}, timers by the watermark",
            ),
        ),
        (in_buckets(), {}, ("the key is shop; the value is total; Spark stores the keys in 8 buckets, as columns", NOTHING, NONE)),
        (
            group_state(time_mode="processing"),
            {},
            (
                "the key is shop; the values are the variables that Shops declares in init",
                f"{CLEARED}, at a processing-time timer or by its TTL; each run processes all "
                "that are due",
                NONE,
            ),
        ),
        (
            group_state(form="apply", processor="shops", state=(Field(name="total", type="bigint"),)),
            {},
            ("the key is shop; the value is total, and a timeout", f"{CLEARED}, at the latest at an event-time timer", f"{BY_DATA}, timers by the watermark"),
        ),
    ],
)  # fmt: skip
def test_explain_tells_a_steps_state_its_eviction_and_its_predicates(step, changes, said):
    spec: Pipeline = pipeline(steps=(step,), **{"state": State(budget_rows=1000)} | changes)
    assert describe_state(step, spec) == "; ".join(said)
