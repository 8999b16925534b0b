"""Impossible: what a pipeline's fields may not say together."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, cast

from spark_jobs.spec import output_mode, several
from spark_jobs.spec.checks.check import CONDITION, STATE_METRICS
from spark_jobs.spec.columns import Columns, Origin, Origins, one_of
from spark_jobs.spec.duration import positive
from spark_jobs.spec.model import refuse
from spark_jobs.spec.sql import raw_bytes_in
from spark_jobs.spec.windows import Session

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.checks.check import Check
    from spark_jobs.spec.steps.step import Step

NO_RAW: Final = "kafka.raw is kept of rejected records only, and is null in all others"
NO_RAW_WAY: Final = (
    "Use the topic's fields, and kafka.partition, kafka.offset and kafka.timestamp; what you need "
    "of the key, the producer writes into the value too"
)


def refuse_impossible(pipeline: Pipeline) -> None:
    """Refuse a spec that no run could carry out."""
    _refuse_more_topics(pipeline)
    _refuse_unserved(pipeline)
    _refuse_watermark(pipeline)
    _refuse_silence(pipeline)
    _refuse_close_after(pipeline)
    positive("stall_timeout", pipeline.stall_timeout)
    columns: Columns = pipeline.inputs.columns
    types, time = pipeline.inputs.types, cast("str | None", pipeline.inputs.event_time)
    for index, step in enumerate(pipeline.steps):
        if step.stateful and time is None:
            _refuse_without_time(pipeline, index)
        step.refuse_time(time, pipeline.output_mode)
        _refuse_keys(step, types)
        step.refuse_types(types)
        columns, time = step.columns_after(columns), step.time_after(time)
        types = step.types_after(types)
    for at, step in enumerate(pipeline.steps):
        step.refuse_beside(
            pipeline.steps[:at],
            pipeline.steps[at + 1 :],
            pipeline.output_mode,
            several=pipeline.is_several,
            undeleted=pipeline.topic.tombstones == "dropped" and not pipeline.topic.envelope,
        )
    for name in [
        side.name for step in pipeline.steps for side in step.sides if side not in pipeline.sides
    ]:
        refuse(
            "steps",
            name,
            "two tables beside the stream have this name",
            "Declare one table once, or give each another name",
        )
    several.refuse_taken(pipeline.steps, pipeline.inputs, pipeline.more_topics)
    output_mode.refuse_impossible(pipeline.output_mode, pipeline.steps)
    _refuse_provider(pipeline)
    _refuse_unknown_columns("output_checks", pipeline.output_checks, columns)
    metrics = (*STATE_METRICS, *pipeline.own_metrics)
    _refuse_unknown_columns("state_checks", pipeline.state_checks, metrics)
    _refuse_conditions(pipeline)
    _refuse_raw_bytes(pipeline)
    _refuse_ranges(pipeline, columns)
    pipeline.layout.refuse_personal(_personal(pipeline))
    pipeline.layout.refuse_unfit(columns, types)
    for metric in pipeline.state_checks_off:
        if metric not in STATE_METRICS:
            refuse(
                "state_checks_off",
                metric,
                "it is not a state metric",
                f"Use one of {', '.join(STATE_METRICS)}",
            )
        if metric in ("unaccounted", "groups_unaccounted", "state_rows"):
            refuse(
                "state_checks_off",
                metric,
                "you cannot disable this check",
                "Remove it from the list",
            )


def _refuse_unserved(pipeline: Pipeline) -> None:
    asked = {
        "reader_options": pipeline.reader_options,
        "publish_at": pipeline.publish_at,
        "schedule.when_data": pipeline.schedule.when_data,
        "topics": pipeline.topics if pipeline.is_several else (),
    }
    for each in pipeline.topic.inputs:
        each.refuse_asked(asked)
    if pipeline.publish_at is not None:
        pipeline.publish_at.refuse_topics(pipeline.topic.inputs, pipeline.more_topics)


def _personal(pipeline: Pipeline) -> set[str]:
    """The output's columns that are a personal field, by its name or another."""
    personal, time = pipeline.inputs.personal, cast("str | None", pipeline.inputs.event_time)
    origins: Origins = {name: (Origin(name, "identity"),) for name in pipeline.inputs.columns}
    for step in pipeline.steps:
        origins, time = step.origins_after(origins, time), step.time_after(time)
    same = {Origin(name, "identity") for name in personal}
    return {*personal} | {name for name, of in origins.items() if same.intersection(of)}


def _refuse_keys(step: Step, types: dict[str, str]) -> None:
    keys = step.state_key(tuple(types)) if step.stateful else ()
    if maps := [key for key in keys or () if "map<" in types.get(key, "")]:
        refuse(
            f"{step.kind}.keys",
            maps,
            "Spark compares no maps",
            "Use other keys, or take parts of the map in a Transform",
        )


def _refuse_ranges(pipeline: Pipeline, columns: Columns) -> None:
    by, context = pipeline.ranges.by, pipeline.ranges.context
    if by is not None and columns is not None and by not in columns:
        refuse("ranges.by", by, "the output has no such column", one_of([by], columns))
    if context is not None and not any(
        step.by_code or isinstance(step.grouping_window, Session) for step in pipeline.steps
    ):
        refuse(
            "ranges.context",
            str(context),
            "Sluice derives it from the steps, where none is a GroupState or makes sessions",
            "Leave it out",
        )


def _refuse_without_time(pipeline: Pipeline, index: int) -> None:
    before = next(step for step in reversed(pipeline.steps[:index]) if step.time_after("") is None)
    if before.unfollowed:
        refuse("steps", pipeline.steps[index].kind, *before.unfollowed)
    refuse(
        "steps",
        pipeline.steps[index].kind,
        f"rows that leave {before.kind} have no event time for a later stateful step",
        f"Give the {before.kind} an event_time, or put it last",
    )


def _refuse_provider(pipeline: Pipeline) -> None:
    needing = [step.kind for step in pipeline.steps if step.needs_rocksdb]
    if pipeline.state.provider != "rocksdb" and needing:
        refuse(
            "state.provider",
            pipeline.state.provider,
            f"Sluice runs this {needing[0]} only on RocksDB",
            "Use provider='rocksdb'; a GroupState with form='apply' runs on both",
        )


def _refuse_close_after(pipeline: Pipeline) -> None:
    if pipeline.close_after is not None and pipeline.watermark_delay is None:
        refuse(
            "close_after",
            str(pipeline.close_after),
            "it moves the watermark, and the pipeline has none",
            "Set watermark_delay too",
        )


def _refuse_more_topics(pipeline: Pipeline) -> None:
    if pipeline.more_topics is None:
        return
    if not pipeline.topics:
        refuse("topics", pipeline.topics, "more_topics come behind these", "List one at least")
    like = pipeline.more_topics.like.model_copy(update={"name": "more_topics.like"})
    several.Several.of((pipeline.topics[0], like))


def _refuse_silence(pipeline: Pipeline) -> None:
    if pipeline.silent_after is None:
        return
    positive("silent_after", pipeline.silent_after)
    if pipeline.watermark_delay is None or not pipeline.is_several:
        refuse(
            "silent_after",
            str(pipeline.silent_after),
            "it is about topics that hold one watermark back",
            "Set topics and watermark_delay too, or leave it out",
        )


def _refuse_unknown_columns(field: str, checks: tuple[Check, ...], columns: Columns) -> None:
    for check in checks:
        unknown = [name for name in check.columns if columns is not None and name not in columns]
        if columns is not None and unknown:
            refuse(
                f"{field}: {check.type}",
                unknown,
                "there is no such column",
                one_of(unknown, columns),
            )


def _refuse_conditions(pipeline: Pipeline) -> None:
    for check in pipeline.state_checks:
        if CONDITION in check.kwargs:
            refuse(
                f"state_checks: {check.type}",
                check.kwargs[CONDITION],
                "the state metrics are one row, which a condition would leave out",
                f"Leave out {CONDITION}",
            )


def _refuse_raw_bytes(pipeline: Pipeline) -> None:
    for number, step in enumerate(pipeline.before_state, 1):
        for sql in step.sql_texts:
            if raw_bytes_in(sql.text):
                refuse(f"step {number} ({step.kind}): {sql.field}", sql.text, NO_RAW, NO_RAW_WAY)


def _refuse_watermark(pipeline: Pipeline) -> None:
    unbounded = output_mode.unbounded(pipeline.output_mode, pipeline.steps)
    by_time = [
        step.kind for step in pipeline.steps if step.stateful and step.evicted_by == "watermark"
    ]
    evicted = [kind for kind in by_time if kind not in unbounded]
    if evicted and pipeline.watermark_delay is None:
        refuse(
            "watermark_delay",
            None,
            f"only a watermark evicts the state of {evicted[0]}; without one it grows for ever",
            "Set how long to wait for out-of-order events, for example watermark_delay='2 hours'",
        )
    if unbounded and pipeline.state.budget_rows is None:
        refuse(
            "state.budget_rows",
            None,
            f"nothing evicts the state of {unbounded[0]}",
            "Set the most rows of state that you allow, or use a step that the watermark evicts",
        )
    if pipeline.watermark_delay is not None and pipeline.watermark_delay <= timedelta():
        refuse(
            "watermark_delay",
            str(pipeline.watermark_delay),
            "Spark then drops rows whose time equals the newest one seen",
            "Wait for at least a second; minutes or hours are usual",
        )
