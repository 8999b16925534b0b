"""Explain: the physical plan of a pipeline, a sentence for each stateful operator, and what evicts
its state. With no records: what a drain refuses, `sluice validate --deep` refuses too.

The query is started as a drain starts it, from a stream without files, into a checkpoint that is
thrown away: Spark then looks for what it cannot do in a stream (UnsupportedOperationChecker). The
checks are evaluated by Great Expectations as after a drain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.dataflow import dataflow
from spark_jobs.launch.session import PROVIDERS, session
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.topic import new_fields, record_form
from spark_jobs.runs.preflight import refuse_unable
from spark_jobs.runs.resume.empty_run import refuse_what_a_drain_refuses
from spark_jobs.settings.installation import Settings
from spark_jobs.side.port import newest
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.spec.output_mode import mode_facts, unbounded
from spark_jobs.spec.steps.step import Step
from spark_jobs.steps.operator import NO_PREDICATE, stateful_operator
from spark_jobs.steps.sql import refuse_unsafe_trees
from spark_jobs.steps.timers import Timers
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import YOUNGER

if TYPE_CHECKING:
    from spark_jobs.messages.job import Explain, Validate


OPERATORS = {
    "EventTimeWatermark": "takes the newest event time of each batch; that minus the delay is the "
    "next batch's watermark",
    "StreamingDeduplicateWithinWatermark": "looks each key up in its store; a new key is kept and "
    "its row passed on",
    "StreamingDeduplicate": "looks each key up in its store; a new key is kept and its row passed "
    "on",
    "StateStoreRestore": "reads the stored value of each group that the batch changes",
    "StateStoreSave": "stores the groups that changed, writes those that the output mode asks "
    "for, and drops late groups",
    "SessionWindowStateStoreRestore": "reads the stored sessions of each key in the batch, to "
    "merge rows into them",
    "SessionWindowStateStoreSave": "stores the sessions that changed and writes those that have "
    "ended",
    "StreamingSymmetricHashJoin": "keeps the rows of both inputs by key, passes on those that "
    "match, and drops late rows of either",
    "TransformWithStateInPySpark": "passes each key's rows and due timers to the processor in a "
    "Python worker",
    "FlatMapGroupsInPandasWithState": "calls the function for each key that has rows, then for "
    "each key that timed out",
}
"""Spark's physical operators that read or write state, without their suffix Exec
(o.a.s.sql.execution.streaming).
"""


def plan_of(spec: Pipeline, settings: Settings) -> DataFrame:
    """The query of a drain without its sink and its counters. Reads nothing from Kafka."""
    spark = session(spec.name, spec.state, settings.root)
    refuse_unsafe_trees(spark, spec)
    records = source_of(spec, settings).stream(spark)
    flow = dataflow(records, spec, settings, newest(spec, settings))
    return flow.output(Paths(settings.root, spec).root, Timers(spark))


def validated(job: Validate, spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Of SPEC, and of NEXT where there is one."""
    for each in filter(None, (spec, registry.load_next(job.pipeline))):
        yield from deep(each, settings)


def deep(spec: Pipeline, settings: Settings) -> Iterator[str]:
    """One line to print if Spark can plan the pipeline's query, Great Expectations its checks, and
    its table takes the rows.

    Raises SpecInvalid, which names what Spark does not know or Sluice refuses, CheckBroken, or
    TableChanged.
    """
    rows = plan_of(spec, settings)
    plan_text(rows)
    refuse_what_a_drain_refuses(rows.sparkSession, spec, settings)
    paths = Paths(settings.root, spec)
    table = table_of(paths)
    refuse_unable(table, spec)
    table.refuse_layout(spec, rows.schema)
    if table.exists():
        known = read_identity(paths)
        newer = new_fields(known.fingerprint, record_form(spec.inputs)) if known else ()
        table.refuse_changed(rows.schema, YOUNGER.union(newer))
    columns = (f"{column.name} {column.dataType.simpleString()}" for column in rows.schema)
    yield f"ok  {spec.name}: {', '.join(columns)}"


def explained(_: Explain, spec: Pipeline, settings: Settings) -> Iterator[str]:
    return explain(spec, settings)


def explain(spec: Pipeline, settings: Settings) -> Iterator[str]:
    """Lines to print: Spark's plan, then its stateful operators from the source to the sink, then
    the state.
    """
    text = plan_text(plan_of(spec, settings))
    yield from text.rstrip().splitlines()
    yield ""
    yield "Operators that keep state or move it, in the order of the rows:"
    for name in reversed(known_operators(text)):
        yield f"  {name}: {OPERATORS[name]}"
    yield ""
    names = {name: rule for each in spec.inputs.rules for name, rule in each.items()}
    if names:
        yield "Rules that a good record fulfils, before the first step:"
        for name, rule in names.items():
            yield f"  {rule.on_failure}: {name}: `{rule.sql}`, null {rule.null}"
        yield ""
    yield (
        f"State: {spec.state.shuffle_partitions} partitions, hashed by key, one store in each for "
        "every stateful step; "
        f"{PROVIDERS[spec.state.provider].rpartition('.')[2]}, state format {spec.state.format}; "
        f"output mode {spec.output_mode}"
    )
    for number, step in enumerate(spec.steps, 1):
        if step.stateful:
            yield f"  step {number}, {step.kind}: {describe_state(step, spec)}"


def plan_text(rows: DataFrame) -> str:
    """The text that rows.explain() prints."""
    utilities: Any = rows.sparkSession._jvm.PythonSQLUtils  # type: ignore[union-attr]  # noqa: SLF001 - explain() prints only
    return str(utilities.explainString(rows._jdf.queryExecution(), "simple"))  # noqa: SLF001


def known_operators(plan: str) -> list[str]:
    """The known operators in a plan that Spark printed, from the sink to the source; one that
    occurs twice is listed twice.
    """
    names = (re.match(r"[\s+:*|()!\d-]*([A-Za-z]+)", line) for line in plan.splitlines())
    return [name[1] for name in names if name and name[1] in OPERATORS]


def describe_state(step: Step, spec: Pipeline) -> str:
    """The columns of a step's state; what evicts it, if anything; where Spark puts the watermark's
    predicates.
    """
    operator = stateful_operator(step)
    eviction = operator.eviction(spec)
    if step.kind in unbounded(spec.output_mode, spec.steps):
        eviction = f"nothing evicts it: the budget is {spec.state.budget_rows:,} rows"
    held = spec.watermark_delay is not None and not mode_facts(spec.output_mode).keeps_all_state
    return "; ".join((operator.state(), eviction, operator.predicates() if held else NO_PREDICATE))
