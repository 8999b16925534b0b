"""Measures that a few records can make fail: told when a spec is validated."""

from __future__ import annotations

import pytest

from spark_jobs.contract.overflow import overflowing
from spark_jobs.contract.topic import Field
from tests.unit.specs import FIELDS, aggregate, pipeline, topic

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
def test_a_sum_of_bigint_is_told(measure: str, told: bool) -> None:
    step = aggregate(measures={"n": measure}, counts=None)
    spec = pipeline(topic=topic(fields=(*FIELDS, FEW, SIZE)), steps=(step,))
    assert [
        line.startswith("step 1 (aggregate), measures['n']: ") for line in overflowing(spec)
    ] == ([True] if told else [])
