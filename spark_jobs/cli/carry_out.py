"""Carry out: what `sluice repair`, `backfill`, `verify` and `replay` do: plan; with --execute
stage, judge, ask and swap.
"""

from __future__ import annotations

import getpass
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import typer

from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.checkpoint.notes.published import publisher
from spark_jobs.cli.terminal import end_undone, say, with_spark
from spark_jobs.errors import LeaseHeld
from spark_jobs.messages import log
from spark_jobs.messages.job import Stage
from spark_jobs.messages.kind import KINDS, AskedKind
from spark_jobs.messages.report import Report, read_report
from spark_jobs.messages.request import Policy, Request
from spark_jobs.messages.stages import check_line
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings, log_format
from spark_jobs.storage.root.paths import Paths, report_path

if TYPE_CHECKING:
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.repair.manifest import Manifest
    from spark_jobs.spec import Pipeline


class Asked(NamedTuple):
    """What the options of a command say."""

    ends: tuple[str | None, str | None]
    note: str
    most_records: int
    without_lost: bool
    reason: str = ""
    keys: str = ""
    approve: Policy | None = None


def carry_out(
    kind: AskedKind,
    pipeline: str,
    asked: Asked,
    *,
    yes: bool,
    execute: bool,
    behind: str | None = None,
    beside: bool | None = None,
) -> None:
    """Print the plan, and do it if `execute`. Ends the process with one line for an error, and with
    NOT_DONE where it has not been done. What has nothing to do is done; but nothing is proved by a
    verify without a record.

    `behind`: the id of a run that nobody watches. Where its plan is refused, ops.runs has a row:
    the next one does not try the same records again. `beside`: whether it is about NEXT, in place
    of SLUICE_NEXT.
    """
    from spark_jobs.decode.pandas_later import without_pandas  # noqa: PLC0415 - as below
    from spark_jobs.repair.planner import plan_repair  # noqa: PLC0415 - Kafka's client, which the help does not need
    from spark_jobs.runs.unbegun import recorded  # noqa: PLC0415 - as above

    without_pandas()  # a fifth of a second
    run = behind or run_id(kind)
    log.setup(log_format())
    with with_spark(), log.context(pipeline=pipeline, run=run):
        spec = registry.load(pipeline)
        request = Request(
            kind=kind,
            start=asked.ends[0],
            end=asked.ends[1],
            reason=asked.reason,
            keys=asked.keys,
            approve=asked.approve,
            note=asked.note,
            most_records=asked.most_records,
            without_lost=asked.without_lost,
            who=getpass.getuser(),
        )
        settings = Settings.of(spec)
        if beside is not None:
            settings = settings._replace(next="on" if beside else "off")
        spec = live_spec(spec, settings.root, about=beside)
        with recorded(pipeline, run, kind=kind) if behind else nullcontext():
            plan = plan_repair(spec, settings, request)
        for line in plan.lines:
            say(line)
        if not request.facts.swaps and (plan.idle or not execute):
            end_undone(f"{pipeline}: nothing is verified")
        if plan.idle:
            return
        if not execute:
            end_undone()
        _execute(spec, settings, plan, run, yes=yes)


def computed(settings: Settings, paths: Paths, plan: RepairPlan, run: str) -> Report:
    """Stage the plan in a process with Spark; the report. Prints the checks that did not pass."""
    from spark_jobs.launch.warm import client  # noqa: PLC0415 - as above

    if held := holder(paths.staging_lease):  # the stage asks too, behind the start of a JVM
        raise LeaseHeld.repair_computing(pipeline=paths.pipeline, holder=held)
    plan.store(paths)
    report_at = report_path(settings.root, plan.pipeline, run)
    job = Stage(
        pipeline=plan.pipeline,
        kind=plan.kind,
        repair_id=plan.repair_id,
        report=str(report_at),
        run_id=run,
        told=True,
    )
    client.run(settings, job, plan.offsets)
    report = read_report(report_at)
    for check in report.checks:
        if check.outcome != "passed":
            say(f"  {check_line(check)}")
    return report


def _execute(spec: Pipeline, settings: Settings, plan: RepairPlan, run: str, *, yes: bool) -> None:
    from spark_jobs.repair.manifest import read_manifest  # noqa: PLC0415 - as above
    from spark_jobs.repair.swap import swap  # noqa: PLC0415 - as above

    paths = Paths(settings.root, spec)
    report = computed(settings, paths, plan, run)
    if report.problem:
        raise report.problem.error()
    if not KINDS[plan.kind].swaps:
        say(f"{spec.name}: the table is what its records give: {report.change}")
        return
    if not agreed(paths, read_manifest(paths, plan.repair_id), yes=yes):
        end_undone(f"{spec.name}: nothing is changed; repair {plan.repair_id} is rejected")
    done = swap(spec, settings.root, plan.repair_id, run)
    at = "no commit was needed" if done.table_version is None else f"version {done.table_version}"
    say(
        f"{spec.name}: {done.added:,} rows added, {done.removed:,} removed, {done.changed:,} "
        f"changed, {done.merged:,} {KINDS[plan.kind].merges} merged; {at}. {publisher(paths)}"
    )


def run_id(kind: str) -> str:
    """The id of a run that a person starts."""
    return f"{kind}-cli-{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"


def agreed(paths: Paths, manifest: Manifest, *, yes: bool) -> bool:
    """Whether the staged change may be swapped in: nobody need agree, or a person does, or has
    with `yes`. A No ends the repair: it is rejected. So does Ctrl-C, and input that has no answer.
    """
    from spark_jobs.repair.manifest import approve  # noqa: PLC0415 - loads delta-rs, which the help does not need
    from spark_jobs.repair.undo import reject  # noqa: PLC0415 - as above

    if manifest.approval == "not needed":
        return True
    who, answered = getpass.getuser(), False
    try:
        _show(paths, manifest)
        answered = yes or typer.confirm("Swap this change in?")
    finally:
        if answered:
            approve(paths, manifest.repair_id, who)
        else:
            # No command swaps it in later.
            reject(paths, manifest.repair_id, who)
    return answered


def _show(paths: Paths, manifest: Manifest) -> None:
    from spark_jobs.repair.exchange.staging import sample, sample_lines  # noqa: PLC0415 - as above

    say(
        f"repair {manifest.repair_id} would change version {manifest.table_version} of the table: "
        f"{manifest.added:,} rows added, {manifest.removed:,} removed, {manifest.changed:,} "
        f"changed; {manifest.unexplained:,} of these no late or replayed record explains"
    )
    try:
        lines = sample_lines(sample(paths.staging(manifest.repair_id)))
    except Exception as error:  # noqa: BLE001 - whatever delta-rs or the store threw, the question stands
        lines = [f"the rows cannot be shown: {error}"]
    for line in lines:
        say(f"  {line}")
