"""The text of DAG pages, from specs."""

from __future__ import annotations

from sluice_airflow import ids
from spark_jobs.registry.archive_spec import ArchiveSpec
from spark_jobs.spec import Check, Pipeline
from spark_jobs.spec.analysis import state_checks
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.spec.duration import interval
from spark_jobs.storage.root.live_place import first_table


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
    fields = ", ".join(f"`{name}` {kind}" for name, kind in spec.inputs.types.items())
    return "\n".join(
        (
            f"### {spec.name}",
            "",
            spec.about,
            "",
            f"**Reads** topic `{spec.inputs.name}`, event time `{spec.inputs.event_time}`: "
            f"{fields}.",
            "",
            f"**Watermark**: {delay}. Records with event time over "
            f"{interval(spec.inputs.max_ahead)} after the Kafka timestamp go "
            "to `ops.quarantine`.",
            "",
            "**Steps**",
            "",
            *(f"{n}. {step.described}" for n, step in enumerate(spec.steps, 1)),
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
