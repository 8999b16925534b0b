"""The text of DAG pages, from specs."""

from __future__ import annotations

from collections.abc import Iterable

from sluice_airflow import ids
from spark_jobs.analysis import state_checks
from spark_jobs.analysis.ranged import unranged
from spark_jobs.registry.archive_spec import ArchiveSpec
from spark_jobs.root.live_place import first_table
from spark_jobs.spec import (
    Aggregate,
    Check,
    Deduplicate,
    GroupState,
    History,
    Latest,
    Pipeline,
    Transform,
)
from spark_jobs.spec.duration import interval
from spark_jobs.spec.steps.union import Step

KEPT_UNTIL = {
    "watermark": "keys are kept until the watermark passes their event time plus the delay",
    "event_time": "keys are kept until the watermark passes their event time",
    "for_ever": "keys are kept for ever",
}
CLOCKS = {
    "none": "without timers",
    "event": "timers by event time",
    "processing": "timers by processing time",
}


def page(spec: Pipeline) -> str:
    """The DAG's page, in Markdown: the pipeline's topic, watermark, steps, state and checks."""
    if isinstance(spec, ArchiveSpec):
        return _archive_page(spec)
    delay = (
        f"{interval(spec.watermark_delay)} behind the newest event time"
        if spec.watermark_delay
        else "none"
    )
    state = spec.state
    fields = ", ".join(f"`{field.name}` {field.type}" for field in spec.topic.fields)
    return "\n".join(
        (
            f"### {spec.name}",
            "",
            spec.about,
            "",
            f"**Reads** topic `{spec.topic.name}`, event time `{spec.topic.event_time}`: {fields}.",
            "",
            f"**Watermark**: {delay}. Records with event time over "
            f"{interval(spec.topic.max_ahead)} after the Kafka timestamp go "
            "to `ops.quarantine`.",
            "",
            "**Steps**",
            "",
            *(f"{n}. {describe_step(step)}" for n, step in enumerate(spec.steps, 1)),
            "",
            f"**State**: version {state.version}, state store {state.provider}, "
            f"{state.shuffle_partitions} shuffle partitions.",
            "",
            "**Checks on the rows that a run wrote**",
            "",
            *(_bullets(spec.output_checks)),
            "",
            "**Checks on the state**",
            "",
            *(_bullets(state_checks.state_checks_of(spec))),
            "",
            "`plan` reads Kafka and the checkpoint without Spark, and skips the other tasks when "
            "there is nothing to do. "
            "`publish` tells downstream DAGs the table version to read. It runs only after every "
            "critical check has passed.",
            "",
            "**Backfill**: not with this DAG. A drain reads the records that are there, whatever "
            "its data interval, so Airflow's form is off here. "
            f"{_again(spec)}",
        )
    )


def _archive_page(spec: ArchiveSpec) -> str:
    kept = f"for {interval(spec.keep)} from its Kafka timestamp" if spec.keep else "for ever"
    return "\n".join(
        (
            f"### {spec.name}",
            "",
            f"{spec.about} Kept {kept}; repairs and backfills of the topic's pipelines read from "
            "it, so that Kafka's retention does not bound them.",
            "",
            f"**Writes** `<root>/archive/{first_table(spec)}`, one row a record: topic_id, "
            "partition, offset, kafka_timestamp, key, value, event_time, event_date. Malformed, "
            "premature and late records are among them.",
            "",
            "**Checks on the account**",
            "",
            *(_bullets(state_checks.state_checks_of(spec))),
        )
    )


def describe_step(step: Step) -> str:  # noqa: PLR0911 - one for each kind
    """One step, as a sentence in Markdown."""
    match step:
        case Transform(sql=str() as sql):
            return f"`{sql}`"
        case Transform(function=str() as function):
            return f"`{function}` in logic.py"
        case Transform():
            return f"keep rows where `{step.where}`"
        case Deduplicate():
            key = "columns are all equal" if step.whole_row else f"{_names(step.keys)} are equal"
            return f"drop duplicates: rows whose {key} ({KEPT_UNTIL[step.scope]})"
        case Aggregate():
            measures = ", ".join(f"`{name}` = `{sql}`" for name, sql in step.measures.items())
            groups = (
                " and ".join(filter(None, [str(step.window or ""), _names(step.keys)]))
                or "all rows together"
            )
            return f"for every {groups}: {measures}"
        case GroupState():
            columns = _names(field.name for field in step.output)
            clock = CLOCKS[step.time_mode]
            buckets = f", in {step.buckets:,} buckets" if step.buckets else ""
            return (
                f"for every {_names(step.keys)}{buckets}: `{step.processor}` in logic.py, {clock}; "
                f"output columns {columns}"
            )
        case Latest():
            gone = f"; a row goes where `{step.deletes}`" if step.deletes else ""
            return (
                f"keep the newest row of each {_names(step.keys)}, by {_names(step.order_by)}{gone}"
            )
        case History():
            gone = f"; the last one ends where `{step.deletes}`" if step.deletes else ""
            return (
                f"keep every version of the row of each {_names(step.keys)}, by "
                f"{_names(step.order_by)}, valid from {step.time}{gone}"
            )


def _names(columns: Iterable[str]) -> str:
    return ", ".join(f"`{column}`" for column in columns)


def _bullets(checks: tuple[Check, ...]) -> list[str]:
    def bullet(check: Check) -> str:
        arguments = ", ".join(f"{key}={value!r}" for key, value in check.kwargs.items())
        return f"- {check.severity}: `{check.type}({arguments})`" + (
            f" ({check.about})" if check.about else ""
        )

    return [bullet(check) for check in checks] or ["- none"]


def _again(spec: Pipeline) -> str:
    why = unranged(spec)
    if spec.keyed:
        return f"The DAG `{ids.backfills(spec.name)}` replays records, and computes keys again."
    if why:
        return (
            f"Its ranges cannot be computed again: {why}. The DAG `{ids.backfills(spec.name)}` "
            "computes the whole table again, by NEXT in spec.py with a raised state version: a "
            "rebuild, "
            "from what Kafka has. An archive of the topic is read only if ranges of NEXT can be "
            "computed."
        )
    told = f"The DAG `{ids.backfills(spec.name)}` computes ranges of the table again."
    if spec.ranges.repair == "by hand":
        return told
    return f"{told} `repair` starts it when late records wait that no repair has tried yet."
