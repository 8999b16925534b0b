"""Rebuilding: the parts of `sluice rebuild --execute`, in their order: drain NEXT beside, merge its
late records, show what differs, switch.
"""

from __future__ import annotations

import getpass
import logging
import os
import time
from typing import TYPE_CHECKING

from spark_jobs.cli.terminal import say
from spark_jobs.contract.errors import LeaseHeld, RangeUnsupported, RebuildRefused
from spark_jobs.contract.paths import Paths, report_path
from spark_jobs.contract.report import Report, read_report
from spark_jobs.contract.request import Request
from spark_jobs.contract.summary import check_line, summary

if TYPE_CHECKING:
    from pathlib import Path

    from upath import UPath

    from spark_jobs.checkpoint.live import Live
    from spark_jobs.contract.settings import Settings
    from spark_jobs.contract.spec import Pipeline

LOG = logging.getLogger(__name__)
CATCH_UPS = 5
"""How often it catches up with a live pipeline that has drained meanwhile, before it gives up."""


def drain_beside(following: Pipeline, beside: Settings, paths: Paths, run: str) -> None:
    """Drain NEXT until nothing is left, a run after the other where the spec bounds them."""
    from spark_jobs.launch.submit import command  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.ops_rows import put_runs  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.side import side_paths  # noqa: PLC0415 - as above
    from spark_jobs.runs.plan import plan as make_plan  # noqa: PLC0415 - as above

    name, number = following.name, 1
    while not (planned := make_plan(following, beside)).idle:
        each = f"{run}-{number}"
        at = report_path(beside.root, name, each)
        try:
            report = _run(beside, command(beside, name, at, each, planned.new_offsets), at)
        finally:
            put_runs(side_paths(paths, following), paths)
        for line in summary(report):
            LOG.info("%s", line)
        if not report.bounded_by:
            return
        number += 1


def merge_late(following: Pipeline, beside: Settings, run: str) -> None:
    """Repair the side table, where ranges of it can be computed: its late records go in."""
    from spark_jobs.launch.submit import stage_command  # noqa: PLC0415 - as above
    from spark_jobs.repair.manifest import approve, read_manifest  # noqa: PLC0415 - as above
    from spark_jobs.repair.planner import plan_repair  # noqa: PLC0415 - as above
    from spark_jobs.repair.swap import swap  # noqa: PLC0415 - as above

    who, name = getpass.getuser(), following.name
    try:
        plan = plan_repair(following, beside, Request(kind="repair", who=who, note="rebuild"))
    except RangeUnsupported as error:
        say(f"  late records are not merged: {error.what}")
        return
    if plan.idle:
        return
    paths, repair = Paths(beside.root, following), f"{run}-late"
    plan.store(paths)
    at = report_path(beside.root, name, repair)
    _run(beside, stage_command(beside, name, plan.repair_id, at, repair, plan.offsets), at)
    if read_manifest(paths, plan.repair_id).approval == "needed":
        approve(paths, plan.repair_id, who)  # nobody reads this table: the switch is what asks
    done = swap(following, beside.root, plan.repair_id, repair)
    say(f"  merged {done.merged:,} late records")


def _run(beside: Settings, words: list[str], at: Path | UPath) -> Report:
    """Run an application in the side root; its report. Raises its problem."""
    from spark_jobs.launch.foreground import run_in_foreground  # noqa: PLC0415 - as above
    from spark_jobs.launch.submit import application, environment  # noqa: PLC0415 - as above

    at.unlink(missing_ok=True)
    run_in_foreground(words, {**os.environ, **environment(beside)}, application())
    report = read_report(at)
    for check in report.checks:
        if check.outcome != "passed":
            say(f"  {check_line(check)}")
    if report.problem:
        raise report.problem.error()
    return report


def show_difference(paths: Paths, side: Paths, following: Pipeline) -> None:
    from spark_jobs.contract.ranged import position_of  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.compare import difference, lines  # noqa: PLC0415 - as above

    found = difference(paths.table, side.table, following, position_of(following))
    say(f"{following.name}: the live table, and what was computed beside it")
    for line in lines(found):
        say(line)


def switched(
    live: Pipeline, following: Pipeline, settings: Settings, beside: Settings, run: str
) -> Live:
    """Switch, after catching up with what the live pipeline has drained since the question."""
    from spark_jobs.rebuild.ready import behind  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.side import side_paths  # noqa: PLC0415 - as above
    from spark_jobs.rebuild.switch import switch  # noqa: PLC0415 - as above

    paths = Paths(settings.root, live)
    side = side_paths(paths, following)
    for number in range(CATCH_UPS):
        _wait(paths)
        if behind(paths, side):
            drain_beside(following, beside, paths, f"{run}-behind-{number}")
        try:
            return switch(live, following, settings.root, run)
        except LeaseHeld:  # a drain began in between
            continue
        except RebuildRefused:
            if not behind(paths, side):
                raise
    return switch(live, following, settings.root, run)


def _wait(paths: Paths) -> None:
    """Until no run works on the live table."""
    from spark_jobs.checkpoint.lease import holder  # noqa: PLC0415 - as above

    if held := holder(paths.lease):
        say(f"  waits for {held}")
    while holder(paths.lease):
        time.sleep(1)
