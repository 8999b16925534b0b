"""The check tasks: what Great Expectations found in the drain's application, shown, and made to stop the run or not."""

from __future__ import annotations

import logging
from typing import Any, Literal

from airflow.sdk import BaseOperator, Context

from sluice_airflow.retries import told_in_one_line
from sluice_airflow.xcom import handed_over
from spark_jobs.contract.report import CheckResult
from spark_jobs.contract.summary import check_line
from spark_jobs.contract.verdict import verdict

LEVELS = {"critical": logging.ERROR, "warning": logging.WARNING, "info": logging.INFO}


class CheckOperator(BaseOperator):
    """Log every check of one suite; fail when a critical one failed or any could not be evaluated."""

    def __init__(self, *, suite: Literal["output", "state"], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.suite = suite

    def execute(self, context: Context) -> dict[str, int]:
        with told_in_one_line(self.log):
            report = handed_over(context)
            checks = [check for check in report.checks if check.suite == self.suite]
            for check in checks:
                self.log.log(_level(check), "%s", check_line(check))
            if error := verdict(report.pipeline, report.table_version, checks):
                raise error
        return {outcome: sum(check.outcome == outcome for check in checks) for outcome in ("passed", "failed")}


def _level(check: CheckResult) -> int:
    return logging.INFO if check.outcome == "passed" else logging.ERROR if check.outcome == "broken" else LEVELS[check.severity]
