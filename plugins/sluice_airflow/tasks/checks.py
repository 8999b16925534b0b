"""The check tasks.

They show the results of the checks, which were evaluated in the drain or the stage, and fail by
them.
"""

from __future__ import annotations

import logging
from typing import Any, Literal

from airflow.sdk import BaseOperator, Context

from sluice_airflow.lineage.operator import TellsLineage
from sluice_airflow.retries import one_line_errors
from sluice_airflow.tasks.xcom import DRAIN, STAGE, report_from_xcom
from spark_jobs.messages.kind import KINDS
from spark_jobs.messages.report import CheckResult, Report
from spark_jobs.messages.stages import check_line
from spark_jobs.messages.verdict import verdict
from spark_jobs.repair.staged_verdict import staged_verdict

LEVELS = {"critical": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


class CheckOperator(TellsLineage, BaseOperator):
    """Logs every check result of one suite.

    Raises CheckBroken if a critical check could not be evaluated, CheckFailed if one failed, or
    ChangeUnexplained if that is the one of a repair's unexplained rows.
    Returns the number of checks that passed and that failed.
    """

    def __init__(
        self,
        *,
        pipeline: str,
        suite: Literal["output", "state", "change"],
        of: str = DRAIN,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.suite = suite
        self.of = of
        self.report: Report | None = None

    def execute(self, context: Context) -> dict[str, int]:
        with one_line_errors(self.log):
            report = self.report = report_from_xcom(context, self.of)
            checks = [check for check in report.checks if check.suite == self.suite]
            for check in checks:
                self.log.log(_level(check), "%s", check_line(check))
            error = (
                staged_verdict(report.pipeline, checks)
                if self.of == STAGE
                else verdict(report.pipeline, report.table_version, checks)
            )
            if error is not None:
                raise error
        return {
            outcome: sum(check.outcome == outcome for check in checks)
            for outcome in ("passed", "failed")
        }

    def lineage(self) -> Any:
        from sluice_airflow.lineage import datasets, tasks  # noqa: PLC0415 - loads OpenLineage's client, only where it is configured

        if self.report is None or KINDS[self.report.kind].whole:  # of a table that nobody reads
            return tasks.of_nothing()
        data = datasets.of(self.report.pipeline)
        return tasks.of_checks(data, self.suite, self.report)


def _level(check: CheckResult) -> int:
    if check.outcome == "passed":
        return logging.INFO
    return LEVELS[check.severity]
