"""Specs in words: what DAG pages show."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.contract import state_checks
from spark_jobs.contract.checks import Check
from spark_jobs.contract.duration import interval
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.steps import Aggregate, Deduplicate, GroupState, Step, Transform

REMEMBERED = {"watermark": "within the watermark", "event_time": "until the watermark has passed it", "for_ever": "for ever"}


def page(spec: Pipeline) -> str:
    """The DAG's page, in Markdown: what this pipeline reads, does, keeps and checks."""
    waits = f"waits {interval(spec.watermark_delay)} for out-of-order events" if spec.watermark_delay else "has no watermark"
    state = spec.state
    fields = ", ".join(f"`{field.name}` {field.type}" for field in spec.topic.fields)
    return "\n".join((
        f"### {spec.name}", "", spec.about, "",
        f"**Reads** topic `{spec.topic.name}`, event time `{spec.topic.event_time}`: {fields}.", "",
        f"**Watermark**: {waits}. A record with an event time more than "
        f"{interval(spec.topic.max_ahead)} after its Kafka timestamp is premature, and goes to `ops.quarantine`.", "",
        "**Steps**", "", *(f"{n}. {step_in_words(step)}" for n, step in enumerate(spec.steps, 1)), "",
        f"**State**: version {state.version}, in {state.provider}, {state.shuffle_partitions} shuffle partitions.", "",
        "**Checks on the rows of a run**", "", *(_bullets(spec.output_checks)), "",
        "**Checks on the state**", "", *(_bullets(state_checks.judged(spec))), "",
        "`plan` looks at Kafka and the checkpoint without starting Spark, and skips the rest when there is nothing to do. "
        "`publish` tells downstream DAGs which table version to read, only after every critical check has passed.",
    ))


def step_in_words(step: Step) -> str:
    """One step, as a sentence."""
    match step:
        case Transform(sql=str() as sql):
            return f"`{sql}`"
        case Transform(function=str() as function):
            return f"`{function}` in logic.py"
        case Transform():
            return f"keep rows where `{step.where}`"
        case Deduplicate():
            what = "copies of rows that" if step.whole_row else f"rows whose {_names(step.keys)}"
            return f"drop {what} came before ({REMEMBERED[step.scope]})"
        case Aggregate():
            measures = ", ".join(f"`{name}` = `{sql}`" for name, sql in step.measures.items())
            groups = " and ".join(filter(None, [str(step.window or ""), _names(step.keys)])) or "all rows together"
            return f"for every {groups}: {measures}"
        case GroupState():
            columns = _names(field.name for field in step.output)
            clock = {"none": "without timers", "event": "by the watermark", "processing": "by the clock"}[step.time_mode]
            return f"for every {_names(step.keys)}: `{step.processor}` in logic.py, {clock}, giving {columns}"


def _names(columns: Iterable[str]) -> str:
    return ", ".join(f"`{column}`" for column in columns)


def _bullets(checks: tuple[Check, ...]) -> list[str]:
    def bullet(check: Check) -> str:
        arguments = ", ".join(f"{key}={value!r}" for key, value in check.kwargs.items())
        return f"- {check.severity}: `{check.type}({arguments})`" + (f" ({check.about})" if check.about else "")
    return [bullet(check) for check in checks] or ["- none"]
