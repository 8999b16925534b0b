"""Commands that compute ranges of a table again. Each prints its plan, and applies it with
--execute.
"""

from __future__ import annotations

import getpass
import logging
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs import log
from spark_jobs.cli.terminal import (
    Execute,
    PipelineName,
    console,
    examples,
    installation,
    one_line_errors,
    say,
)
from spark_jobs.contract import registry
from spark_jobs.contract.paths import Paths, report_path
from spark_jobs.contract.report import read_report
from spark_jobs.contract.request import Request
from spark_jobs.contract.settings import Settings, log_format
from spark_jobs.contract.summary import check_line

if TYPE_CHECKING:
    from spark_jobs.contract.kind import RepairKind
    from spark_jobs.contract.spec import Pipeline
    from spark_jobs.repair.plan import RepairPlan

commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Compute ranges again"
LOG = logging.getLogger(__name__)
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="The range's first event time: a day, or a time with its zone.",
        metavar="TIME",
    ),
]
To = Annotated[
    str | None, typer.Option("--to", help="The range's end, which is not in it.", metavar="TIME")
]
Note = Annotated[str, typer.Option(help="Why; kept in ops.repairs.")]
Yes = Annotated[bool, typer.Option("--yes", help="Approve the change without a question.")]
MostRecords = Annotated[
    int, typer.Option(help="Refuse to start if more records are to be read.", min=1)
]
MOST = 50_000_000


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice repair departure_delays                (dry run: what late records touch)",
        "sluice repair departure_delays --execute",
    ),
)
def repair(
    pipeline: PipelineName,
    start: From = None,
    end: To = None,
    note: Note = "",
    most_records: MostRecords = MOST,
    yes: Yes = False,
    execute: Execute = False,
) -> None:
    """Merge the late records: compute the ranges that they touch again, and swap them in.

    Drains go on meanwhile. The table then has what it would have if no record had been late.
    """
    _carry_out("repair", pipeline, (start, end), note, most_records, yes=yes, execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice backfill departure_delays --from 2013-02-03 --to 2013-02-04           (dry run)",
        "sluice backfill departure_delays --from 2013-02-03 --to 2013-02-04 --execute",
    ),
)
def backfill(
    pipeline: PipelineName,
    start: From = None,
    end: To = None,
    note: Note = "",
    most_records: MostRecords = MOST,
    yes: Yes = False,
    execute: Execute = False,
) -> None:
    """Compute a range of the table again from its records, and swap it in.

    All before it and behind it stays byte for byte.
    """
    _carry_out("backfill", pipeline, (start, end), note, most_records, yes=yes, execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples("sluice verify departure_delays --from 2013-02-01 --to 2013-03-01 --execute"),
)
def verify(
    pipeline: PipelineName,
    start: From = None,
    end: To = None,
    note: Note = "",
    most_records: MostRecords = MOST,
    execute: Execute = False,
) -> None:
    """Prove that a range of the table is what its records give. Changes nothing."""
    _carry_out("verify", pipeline, (start, end), note, most_records, yes=False, execute=execute)


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice show repairs --pipeline departure_delays        (lists the repairs)",
        "sluice undo departure_delays 20261123T101500-3fa9c1",
    ),
)
def undo(
    pipeline: PipelineName,
    repair_id: Annotated[str, typer.Argument(help="The repair.", metavar="REPAIR")],
    execute: Execute = False,
) -> None:
    """Take one repair back: its ranges get the rows that they had before. Later drains stay."""
    from spark_jobs.repair.manifest import read_manifest  # noqa: PLC0415 - as below
    from spark_jobs.repair.undo import undo as intend  # noqa: PLC0415 - Delta, which the help does not need

    with one_line_errors():
        spec, settings = registry.load(pipeline), installation()
        manifest = read_manifest(Paths(settings.root, spec), repair_id)
        if not execute:
            spans = "; ".join(map(str, manifest.differing)) or "nothing"
            say(
                f"{pipeline}: would take back {manifest.kind} {repair_id}, which changed {spans}: "
                f"{manifest.added:,} rows added, {manifest.removed:,} removed, "
                f"{manifest.changed:,} changed"
            )
            console.print("nothing is done yet: add --execute")
            return
        done = intend(spec, settings.root, repair_id, _run_id("undo"))
        say(f"{pipeline}: repair {repair_id} is undone, version {done.table_version}")


def _carry_out(
    kind: RepairKind,
    pipeline: str,
    ends: tuple[str | None, str | None],
    note: str,
    most_records: int,
    *,
    yes: bool,
    execute: bool,
) -> None:
    from spark_jobs.repair.plan import plan_repair  # noqa: PLC0415 - Kafka's client, which the help does not need

    run_id = _run_id(kind)
    log.setup(log_format())
    with one_line_errors(), log.context(pipeline=pipeline, run=run_id):
        spec = registry.load(pipeline)
        request = Request(
            kind=kind,
            start=ends[0],
            end=ends[1],
            note=note,
            most_records=most_records,
            who=getpass.getuser(),
        )
        settings = Settings.from_environment()
        plan = plan_repair(spec, settings, request)
        for line in plan.lines:
            say(line)
        if plan.idle:
            return
        if not execute:
            console.print("nothing is done yet: add --execute")
            return
        _execute(spec, settings, plan, run_id, yes=yes)


def _execute(
    spec: Pipeline, settings: Settings, plan: RepairPlan, run_id: str, *, yes: bool
) -> None:
    from spark_jobs.launch.foreground import run_in_foreground  # noqa: PLC0415 - as above
    from spark_jobs.launch.submit import application, environment, stage_command  # noqa: PLC0415
    from spark_jobs.repair.manifest import approve, read_manifest  # noqa: PLC0415 - as above
    from spark_jobs.repair.swap import swap  # noqa: PLC0415 - as above

    paths = Paths(settings.root, spec)
    plan.store(paths)
    report_at = report_path(settings.root, spec.name, run_id)
    words = stage_command(settings, spec.name, plan.repair_id, report_at, run_id, plan.offsets)
    run_in_foreground(words, {**os.environ, **environment(settings)}, application())
    report = read_report(report_at)
    for check in report.checks:
        if check.outcome != "passed":
            say(f"  {check_line(check)}")
    if report.problem:
        raise report.problem.error()
    if plan.kind == "verify":
        say(f"{spec.name}: the table is what its records give: {report.change}")
        return
    manifest = read_manifest(paths, plan.repair_id)
    if manifest.approval == "needed":
        if not yes and not typer.confirm("Swap this change in?"):
            say(f"{spec.name}: nothing is changed; repair {plan.repair_id} stays staged")
            return
        approve(paths, plan.repair_id, getpass.getuser())
    done = swap(spec, settings.root, plan.repair_id, run_id)
    at = "no commit was needed" if done.table_version is None else f"version {done.table_version}"
    say(
        f"{spec.name}: {done.added:,} rows added, {done.removed:,} removed, {done.changed:,} "
        f"changed, {done.merged:,} late records merged; {at}. The next run of its DAG publishes it"
    )


def _run_id(kind: str) -> str:
    return f"{kind}-cli-{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}"
