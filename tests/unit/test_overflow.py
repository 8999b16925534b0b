"""Measures that a few records can make fail: told when a spec is validated."""

import pytest

from spark_jobs.spec import Field, State
from spark_jobs.spec.analysis.rounding import overflowing
from tests.unit.specs import FIELDS, aggregate, deduplicate, pipeline, topic

FEW = Field(name="few", type="int")
SIZE = Field(name="size", type="double")


@pytest.mark.parametrize(
    ("measure", "told"),
    [
        ("sum(amount)", True),
        ("1 + SUM (`amount` * few) / count(*)", True),
        ("sum(DISTINCT amount)", True),
        ("try_sum(amount)", False),
        ("sum(few)", False),
        ("sum(amount * size)", False),
        ("sum(cast(amount as decimal(38, 0)))", False),
        ("max(amount) - sum(few) -- sum(amount)", False),
        ("avg(amount)", False),
    ],
)
def test_a_sum_of_bigint_is_told(measure, told):
    step = aggregate(measures={"n": measure}, counts=None)
    spec = pipeline(topic=topic(fields=(*FIELDS, FEW, SIZE)), steps=(step,))
    assert [
        line.startswith("step 1 (aggregate), measures['n']: ") for line in overflowing(spec)
    ] == ([True] if told else [])


@pytest.mark.parametrize(
    ("provider", "steps", "told"),
    [
        ("hdfs", (aggregate(measures={"sales": "count(*)"}),), True),
        ("hdfs", (deduplicate(),), False),
        ("rocksdb", (aggregate(measures={"sales": "count(*)"}),), False),
    ],
)
def test_a_store_whose_groups_are_not_tried_is_told(provider, steps, told):
    state = State(provider=provider)
    spec = pipeline(steps=steps, state=state, on_failing_expression="quarantine")
    assert [line.startswith("on_failing_expression=") for line in overflowing(spec)] == [
        True
    ] * told
    assert not [*overflowing(spec.model_copy(update={"on_failing_expression": "refuse"}))]


@pytest.mark.parametrize(("provider", "advised"), [("rocksdb", True), ("hdfs", False)])
def test_a_run_is_advised_to_put_groups_aside_only_where_it_can(provider, advised):
    spec = pipeline(state=State(provider=provider))
    [line] = overflowing(spec)
    assert ("on_failing_expression" in line) is advised
