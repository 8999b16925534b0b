"""`sluice explain`: real plans of Spark, in words."""

from __future__ import annotations

from functools import cache

import pytest

from spark_jobs.contract import registry
from spark_jobs.contract.settings import Settings
from spark_jobs.runs.explain import explain, known_operators
from tests.spark import operators

FOUND = {
    "flight_events": ["StreamingDeduplicateWithinWatermark"],
    "departure_delays": [
        "StateStoreSave",
        "StateStoreRestore",
        "StreamingDeduplicateWithinWatermark",
    ],
    "aircraft_rotations": ["TransformWithStateInPySpark", "StreamingDeduplicateWithinWatermark"],
}


@cache
def explained(pipeline: str) -> tuple[str, ...]:
    """Planned once."""
    spec = registry.load(pipeline) if pipeline in FOUND else operators.named(pipeline).spec
    return tuple(explain(spec, Settings.from_environment()))


@pytest.mark.parametrize("pipeline", FOUND)
def test_every_stateful_operator_of_the_plan_is_explained(pipeline):
    lines = explained(pipeline)
    told = [
        line.strip().partition(":")[0]
        for line in lines
        if line.startswith("  ") and not line.startswith("  step")
    ]
    assert [name for name in reversed(told) if name in FOUND[pipeline]] == FOUND[pipeline]
    assert any("2 partitions" in line and "RocksDBStateStoreProvider" in line for line in lines)
    assert any("state format 2" in line for line in lines)
    assert any(
        "evicted when" in line and "late rows by the event time of the data" in line
        for line in lines
    )


@pytest.mark.parametrize("operator", operators.ALL, ids=lambda operator: operator.spec.name)
def test_no_plan_has_an_operator_with_state_that_is_not_known(operator, monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "tests.pipelines")
    lines = explained(operator.spec.name)
    plan = lines[: lines.index("")]
    named = [line for line in plan if "state info [" in line]
    assert named
    assert len(
        [name for name in known_operators("\n".join(plan)) if name != "EventTimeWatermark"]
    ) == len(named)


def test_state_that_nothing_evicts_is_said_to_be_so():
    lines = explained("complete_windows")
    assert any("nothing evicts it: the budget is 1,000,000 rows" in line for line in lines)
