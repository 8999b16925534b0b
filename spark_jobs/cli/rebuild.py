"""`sluice rebuild`: changed logic computed beside the live pipeline, compared, and switched to."""

from __future__ import annotations

import getpass
import logging
import time
from typing import TYPE_CHECKING, Annotated

import typer

from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.notes.published import publisher
from spark_jobs.cli.carry_out import run_id
from spark_jobs.cli.terminal import (
    Execute,
    PipelineName,
    end_undone,
    examples,
    say,
    with_spark,
)
from spark_jobs.messages import log
from spark_jobs.messages.report import read_report
from spark_jobs.messages.stages import summary
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import Settings, log_format
from spark_jobs.storage.root.paths import Paths, report_path

if TYPE_CHECKING:
    from spark_jobs.admin.rebuild.run import JobAt, Submit
    from spark_jobs.checkpoint.notes.live import Live
    from spark_jobs.messages.report import Report
    from spark_jobs.spec import Pipeline

LOG = logging.getLogger(__name__)
commands = typer.Typer(rich_markup_mode="rich")
PANEL = "Compute ranges again"


@commands.command(
    rich_help_panel=PANEL,
    epilog=examples(
        "sluice validate departure_delays  # checks NEXT too",
        "sluice rebuild departure_delays  # dry run",
        "sluice rebuild departure_delays --execute  # compares, asks, switches",
        "sluice plan departure_delays --next  # so do drain, repair, verify, accept",
        "sluice rebuild departure_delays --back --execute  # logic and rows of before",
    ),
)
def rebuild(
    pipeline: PipelineName,
    execute: Execute = False,
    yes: Annotated[bool, typer.Option("--yes", help="Switch without a question.")] = False,
    without_lost: Annotated[
        bool,
        typer.Option(
            "--without-lost",
            help="Go on although Kafka has no longer all records of the live table: their rows "
            "will be missing.",
        ),
    ] = False,
    back: Annotated[
        bool, typer.Option("--back", help="Take the last switch back: its rows and its logic.")
    ] = False,
    discard: Annotated[
        bool, typer.Option("--discard", help="Remove a rebuild that is half done.")
    ] = False,
) -> None:
    """Compute the table with changed logic, NEXT in spec.py, beside the live one, and switch.

    Drains go on meanwhile. NEXT is a pipeline beside, which this drains and repairs. After Ctrl-C
    or a kill, give the same command again. The switch is one write of a file, and it always asks
    before.
    """
    log.setup(log_format())
    run = run_id("rebuild")
    with with_spark(), log.context(pipeline=pipeline, run=run):
        settings = Settings.of(spec := registry.load(pipeline))
        if back:
            _back(spec, settings, run, (execute, yes, without_lost))
        elif discard:
            _discard(spec, settings, execute=execute)
        else:
            _rebuild(spec, settings, run, (execute, yes, without_lost))


def _rebuild(spec: Pipeline, settings: Settings, run: str, how: tuple[bool, bool, bool]) -> None:
    from spark_jobs.admin.rebuild.compare import lines  # noqa: PLC0415 - Delta and Kafka's client, which the help does not need
    from spark_jobs.admin.rebuild.plan import plan_rebuild, refuse_lost, versions  # noqa: PLC0415 - as above
    from spark_jobs.admin.rebuild.run import Rebuilding, compute, differing, switched  # noqa: PLC0415 - as above

    execute, yes, without_lost = how
    live, following = versions(spec, settings.root)
    plan = plan_rebuild(live, following, settings)
    for line in plan.lines:
        say(line)
    if not without_lost:
        refuse_lost(live, plan)
    if not execute:
        end_undone()
    submit, who = _in_foreground(settings, spec.name), getpass.getuser()
    it = Rebuilding(live, following, settings, run, who, submit, say, without_lost=without_lost)
    compute(it)
    say(f"{spec.name}: the live table, and what was computed beside it")
    for line in lines(differing(it.paths, following)):
        say(line)
    if not yes and not typer.confirm("Switch to it?"):
        end_undone(
            f"{spec.name}: nothing is changed; the same command goes on with what is computed"
        )
    _told(switched(it, _wait_for_runs), it.side)


def _in_foreground(settings: Settings, pipeline: str) -> Submit:
    from spark_jobs.launch.warm import client  # noqa: PLC0415 - as above

    beside = settings._replace(next="on")

    def run(run_id: str, job_at: JobAt, records: int) -> Report:
        at = report_path(beside.root, pipeline, run_id)
        at.unlink(missing_ok=True)
        client.run(beside, job_at(at).model_copy(update={"told": True}), records)
        report = read_report(at)
        for line in summary(report):
            LOG.info("%s", line)
        return report

    return run


def _wait_for_runs(paths: Paths) -> None:
    if held := holder(paths.lease):
        say(f"  waits for {held}")
    while holder(paths.lease):
        time.sleep(1)


def _back(spec: Pipeline, settings: Settings, run: str, how: tuple[bool, bool, bool]) -> None:
    from spark_jobs.admin.rebuild.plan import versions_back  # noqa: PLC0415 - as above
    from spark_jobs.admin.rebuild.switch import (  # noqa: PLC0415 - as above
        plan_back,
        refuse_lost,
        switch_back,
    )

    execute, yes, without_lost = how
    live, former = versions_back(spec, settings.root)
    plan = plan_back(live, former, settings)
    say(
        f"{spec.name}: state version {former.state.version} drains again, from the offsets at "
        "which the switch found it, into its own table"
    )
    for line in plan.lines:
        say(line)
    say(f"  checkpoint and table of version {live.state.version} stay for some days")
    if not without_lost:
        refuse_lost(former, plan)
    if not execute:
        end_undone()
    if not yes and not typer.confirm("Switch back?"):
        end_undone(f"{spec.name}: nothing is changed")
    now = plan_back(live, former, settings)
    if now.lost != plan.lost:  # the answer was to what was shown
        refuse_lost(former, now)
    _told(switch_back(live, former, settings.root, run), Paths(settings.root, former))


def _discard(spec: Pipeline, settings: Settings, *, execute: bool) -> None:
    from spark_jobs.admin.rebuild.beside import discard  # noqa: PLC0415 - as above

    if (remove := discard(Paths(settings.root, spec))) is None:
        say(f"{spec.name}: no rebuild is half done")
        return
    say(f"{spec.name}: remove what NEXT has computed; the live table stays as it is")
    if not execute:
        end_undone()
    remove()


def _told(fact: Live, paths: Paths) -> None:
    say(
        f"{paths.pipeline}: state version {fact.version} drains since now, into {paths.table}. "
        f"{publisher(paths)}"
    )
