"""The check tasks.

They show the results of the checks, which Great Expectations evaluated in the drain, and fail by
them.
"""

from __future__ import annotations

import logging
from typing import Any, Literal

from airflow.sdk import BaseOperator, Context

from sluice_airflow.retries import one_line_errors
from sluice_airflow.xcom import report_from_xcom
from spark_jobs.contract.report import CheckResult
from spark_jobs.contract.summary import check_line
from spark_jobs.contract.verdict import verdict

LEVELS = {"critical": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


class CheckOperator(BaseOperator):
    """Logs every check result of one suite.

    Raises CheckBroken if a check could not be evaluated, CheckFailed if a critical one failed.
    Returns the number of checks that passed and that failed.
    """

    def __init__(self, *, suite: Literal["output", "state"], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.suite = suite

    def execute(self, context: Context) -> dict[str, int]:
        with one_line_errors(self.log):
            report = report_from_xcom(context)
            checks = [check for check in report.checks if check.suite == self.suite]
            for check in checks:
                self.log.log(_level(check), "%s", check_line(check))
            if error := verdict(report.pipeline, report.table_version, checks):
                raise error
        return {
            outcome: sum(check.outcome == outcome for check in checks)
            for outcome in ("passed", "failed")
        }


def _level(check: CheckResult) -> int:
    if check.outcome == "passed":
        return logging.INFO
    return logging.ERROR if check.outcome == "broken" else LEVELS[check.severity]
