"""Explain: the physical plan of a pipeline, its stateful operators in a sentence each, and what lets their state go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, assert_never

from spark_jobs.contract.duration import interval
from spark_jobs.contract.output_mode import unbounded
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Aggregate, Deduplicate, GroupState, Step, Transform
from spark_jobs.contract.windows import Session, Sliding, Tumbling
from spark_jobs.session import PROVIDERS, session
from spark_jobs.stages import fate, source
from spark_jobs.stateful.chain import from_state_on
from spark_jobs.stateful.timers import Timers

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
    records = fate.judged(source.follow(spark, spec, settings), spec)
    return from_state_on(fate.entered(records, spec), spec, Paths(settings.root, spec).root, Timers(spark))


def explain(spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Lines for a person: Spark's plan, then its stateful operators from the source to the sink, then the state."""
    text = plan_text(plan_of(spec, settings))
    yield from text.rstrip().splitlines()
    yield ""
    yield "Operators that keep state or move it, in the order of the rows:"
    for name in reversed(found_in(text)):
        yield f"  {name}: {OPERATORS[name]}"
    yield ""
    yield (
        f"State: {spec.state.shuffle_partitions} partitions, hashed by key, a store each for every stateful step; "
        f"{PROVIDERS[spec.state.provider].rpartition('.')[2]}, state format {spec.state.format}; output mode {spec.output_mode}"
    )
    for number, step in enumerate(spec.steps, 1):
        if step.stateful:
            yield f"  step {number}, {step.kind}: {kept(step)}; {let_go(step, spec)}; {held_against(step, spec)}"


def plan_text(rows: DataFrame) -> str:
    """What rows.explain() would print."""
    utilities: Any = rows.sparkSession._jvm.PythonSQLUtils  # type: ignore[union-attr]  # noqa: SLF001 - explain() returns nothing
    return str(utilities.explainString(rows._jdf.queryExecution(), "simple"))  # noqa: SLF001


def found_in(plan: str) -> list[str]:
    """The known operators of a plan as Spark prints it, from the sink to the source, each as often as it is there."""
    names = (re.match(r"[\s+:*|()!\d-]*([A-Za-z]+)", line) for line in plan.splitlines())
    return [name[1] for name in names if name and name[1] in OPERATORS]


def kept(step: Step) -> str:
    """The columns of a step's state."""
    match step:
        case Deduplicate():
            return f"the key is {', '.join(step.keys)}; the value says until when it is remembered"
        case Aggregate():
            group = ", ".join(step.group) or "the same for all rows"
            return f"the key is {group}; the value has a buffer each for {', '.join(step.measures)}"
        case GroupState(form="apply"):
            return f"the key is {', '.join(step.keys)}; the value is {', '.join(f.name for f in step.state)}, and a time-out"
        case GroupState():
            return f"the key is {', '.join(step.keys)}; the values are what {step.processor} declares in its init"
        case Transform():
            return "nothing"
        case _:
            assert_never(step)


def held_against(step: Step, spec: Pipeline) -> str:
    """Where Spark puts the watermark's predicates (WatermarkSupport): on the key of state, or on the rows' own event time."""
    if spec.watermark_delay is None or spec.output_mode == "complete":
        return "no watermark predicate"
    match step:
        case Deduplicate(scope="watermark"):
            return "late rows by the event time of the data, eviction by the stored value"
        case Deduplicate(scope="for_ever"):
            return "late rows by the event time of the data"
        case Deduplicate() | Aggregate(window=Tumbling() | Sliding() | Session()):
            return "watermark predicate on the key, for late rows and for eviction"
        case GroupState(time_mode="event"):
            return "late rows by the event time of the data, timers by the watermark"
        case _:
            return "no watermark predicate"


def let_go(step: Step, spec: Pipeline) -> str:
    """What evicts a step's state, or that nothing does."""
    if step.kind in unbounded(spec.output_mode, spec.steps):
        return f"nothing evicts it: the budget is {spec.state.budget_rows:,} rows"
    match step:
        case Deduplicate(scope="event_time"):
            return "evicted when the watermark has passed its event time"
        case Deduplicate():
            delay = interval(spec.watermark_delay) if spec.watermark_delay else "0 seconds"
            return f"evicted when the watermark has passed its event time plus {delay}"
        case Aggregate():
            return "evicted when the watermark has passed the window's end"
        case GroupState(time_mode="processing"):
            return "evicted when the processor clears it, by a timer of the clock or by its TTL; each run ends with what is due"
        case _:
            return "evicted when the processor clears it, at the latest by a timer of the watermark"
