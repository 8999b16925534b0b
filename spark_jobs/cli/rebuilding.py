"""Rebuilding on the command line: runs in the foreground, and waits for drains."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.lease import holder
from spark_jobs.cli.terminal import say
from spark_jobs.messages.report import read_report
from spark_jobs.messages.summary import summary
from spark_jobs.root.paths import report_path
from spark_jobs.warm import submitted

if TYPE_CHECKING:
    from spark_jobs.messages.report import Report
    from spark_jobs.rebuild.run import Arguments, Submit
    from spark_jobs.root.paths import Paths
    from spark_jobs.settings.installation import Settings

LOG = logging.getLogger(__name__)


def in_foreground(settings: Settings, pipeline: str) -> Submit:
    """What runs an application beside."""
    beside = settings._replace(next="on")

    def run(arguments: Arguments, run_id: str, records: int) -> Report:
        at = report_path(beside.root, pipeline, run_id)
        at.unlink(missing_ok=True)
        submitted.run(beside, arguments(at).model_copy(update={"told": True}), records)
        report = read_report(at)
        for line in summary(report):
            LOG.info("%s", line)
        return report

    return run


def wait_for_runs(paths: Paths) -> None:
    """Until no run works on the live table."""
    if held := holder(paths.lease):
        say(f"  waits for {held}")
    while holder(paths.lease):
        time.sleep(1)
