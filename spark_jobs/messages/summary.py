"""The summary of a run, as lines for a person.

The command line and Airflow's task log print the same lines.
"""

from __future__ import annotations

from typing import Final

from spark_jobs.messages.held_back import held_back_line
from spark_jobs.messages.report import CheckResult, Report
from spark_jobs.messages.stages import account_line

UNKNOWN: Final = "null"
"""What a state check has observed of a metric that is not known."""


def summary(report: Report) -> tuple[str, ...]:
    """The run's counts and time; batches, table version, state and watermark, or what a repair
    would change; open windows; the limit that ended it.
    """
    state = report.state
    watermark = report.watermark.isoformat() if report.watermark else "none yet"
    seconds = (report.ended_at - report.started_at).total_seconds()
    lines = [
        f"{report.pipeline} {report.status}: {account_line(report.account)}; {seconds:.1f} s, the "
        f"query {report.query_seconds:.1f} s of them",
        str(report.change)
        if report.change
        else f"{len(report.batches)} batches, table version {report.table_version_before} -> "
        f"{report.table_version}, "
        f"state {state.rows_before:,} -> {state.rows:,} rows, {state.bytes / 2**20:,.1f} MiB, "
        f"watermark {watermark}",
    ]
    if report.left_open:
        lines.append(report.left_open)
    if report.bounded_by:
        lines.append(
            f"ended by {report.bounded_by}: {report.waiting:,} offsets wait for the next run"
        )
    if report.up_to:
        lines.append(f"whole up to {report.up_to.id} of {report.up_to.topic}")
    lines += (held_back_line(partition, held) for partition, held in report.held_back.items())
    return tuple(lines)


def check_line(check: CheckResult) -> str:
    """The result of a check, on one line."""
    line = f"{check.outcome} ({check.severity}): {check.name}"
    if check.observed:
        line += f", observed {check.observed}"
    if check.suite == "state" and check.observed == UNKNOWN:
        line += " (not known: it is in no bound's way, and proves nothing)"
    if check.outcome != "passed":
        line += f", {check.unexpected:,} failing" if check.unexpected else ""
        line += f", for example {check.sample}" if check.sample else ""
        line += f". {check.about}" if check.about else ""
    return line
