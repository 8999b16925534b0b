"""Explain: the physical plan of a pipeline, its stateful operators in a sentence each, and what lets their state go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spark_jobs.contract.output_mode import keeps_all_state, unbounded
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Stateful
from spark_jobs.dataflow import dataflow
from spark_jobs.launch.session import PROVIDERS, session
from spark_jobs.source import kafka_source
from spark_jobs.steps.operator import NO_PREDICATE
from spark_jobs.steps.operators import stateful_operator
from spark_jobs.steps.timers import Timers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OPERATORS = {
    "EventTimeWatermark": "notes the newest event time of each batch: less the delay, it is the next batch's watermark",
    "StreamingDeduplicateWithinWatermark": "looks each key up in its store; a new key is kept and its row passed on",
    "StreamingDeduplicate": "looks each key up in its store; a new key is kept and its row passed on",
    "StateStoreRestore": "fetches the stored value of each group that the batch touches, to go on adding to it",
    "StateStoreSave": "stores the groups that changed and writes those that the output mode is due; drops groups that are late",
    "SessionWindowStateStoreRestore": "fetches the stored sessions of each key that the batch touches, to merge rows into them",
    "SessionWindowStateStoreSave": "stores the sessions that changed, and writes those that have ended",
    "TransformWithStateInPySpark": "hands each key's rows and its due timers to the processor, in a Python worker by the store",
    "FlatMapGroupsInPandasWithState": "hands each key's rows, then the keys whose time is out, to the function with the state",
}
"""Spark's physical operators that keep state or move it, without their suffix Exec (o.a.s.sql.execution.streaming)."""


def plan_of(spec: Pipeline, settings: Settings) -> DataFrame:
    """The query that a drain would start, without sink and counters. Reads nothing from Kafka."""
    spark = session(spec.name, spec.state, settings.root)
    records = kafka_source.read_stream(spark, spec, settings)
    return dataflow(records, spec).output(Paths(settings.root, spec).root, Timers(spark))


def explain(spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Lines for a person: Spark's plan, then its stateful operators from the source to the sink, then the state."""
    text = plan_text(plan_of(spec, settings))
    yield from text.rstrip().splitlines()
    yield ""
    yield "Operators that keep state or move it, in the order of the rows:"
    for name in reversed(known_operators(text)):
        yield f"  {name}: {OPERATORS[name]}"
    yield ""
    yield (
        f"State: {spec.state.shuffle_partitions} partitions, hashed by key, a store each for every stateful step; "
        f"{PROVIDERS[spec.state.provider].rpartition('.')[2]}, state format {spec.state.format}; output mode {spec.output_mode}"
    )
    for number, step in enumerate(spec.steps, 1):
        if step.stateful:
            yield f"  step {number}, {step.kind}: {described(step, spec)}"


def plan_text(rows: DataFrame) -> str:
    """What rows.explain() would print."""
    utilities: Any = rows.sparkSession._jvm.PythonSQLUtils  # type: ignore[union-attr]  # noqa: SLF001 - explain() returns nothing
    return str(utilities.explainString(rows._jdf.queryExecution(), "simple"))  # noqa: SLF001


def known_operators(plan: str) -> list[str]:
    """The known operators of a plan as Spark prints it, from the sink to the source, each as often as it is there."""
    names = (re.match(r"[\s+:*|()!\d-]*([A-Za-z]+)", line) for line in plan.splitlines())
    return [name[1] for name in names if name and name[1] in OPERATORS]


def described(step: Stateful, spec: Pipeline) -> str:
    """The columns of its state; what evicts it, or that nothing does; where Spark puts the watermark's predicates."""
    operator = stateful_operator(step)
    eviction = operator.eviction(spec)
    if step.kind in unbounded(spec.output_mode, spec.steps):
        eviction = f"nothing evicts it: the budget is {spec.state.budget_rows:,} rows"
    held = spec.watermark_delay is not None and not keeps_all_state(spec.output_mode)
    return "; ".join((operator.state(), eviction, operator.predicates() if held else NO_PREDICATE))
