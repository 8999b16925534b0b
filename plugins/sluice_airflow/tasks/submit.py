"""What tasks that submit a run to Spark have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.sdk import BaseOperator, Context

from sluice_airflow import metrics
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.lineage.operator import TellsLineage
from sluice_airflow.retries import attempt, one_line_errors
from sluice_airflow.tasks.submission import Submission
from sluice_airflow.tasks.xcom import to_xcom
from spark_jobs.messages.job import Run
from spark_jobs.messages.kind import Kind
from spark_jobs.messages.report import Report
from spark_jobs.messages.stages import summary
from spark_jobs.messages.verdict import CHECK_CODES

CONNECTION = "sluice_spark"


class SubmitOperator(TellsLineage, BaseOperator):
    """Submits a run to Spark, and returns its report as a dict.

    The report decides, not the exit status: it raises the report's problem, or ReportMissing
    without a report. A failed check does not fail this task but its check task.
    """

    kind: Kind = "drain"
    """Of the row in ops.runs of a run that was refused before it could write one."""
    run_of = ""
    """Tells its runs from another DAG's of the pipeline; see retries.attempt."""
    judged = "the rows are written, but not published"
    """What is the case if only a check failed."""

    def __init__(self, *, pipeline: str, conn_id: str = CONNECTION, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.submission = Submission(pipeline, conn_id)
        self.brokers = ""
        self.report: Report | None = None
        """Both of them for lineage, once `execute` knows them."""

    @abstractmethod
    def job(self, context: Context, report: Path, run_id: str) -> Run:
        """The arguments of the application."""

    @abstractmethod
    def planned_records(self, context: Context) -> int:
        """How many records it will read; 0 if unknown."""

    def execute(self, context: Context) -> dict[str, Any]:
        run_id = attempt(context, self.run_of)
        with one_line_errors(self.log), recorded_run(self.pipeline, run_id, self.kind) as keys:
            own = self.submission.settings()
            self.brokers = own.kafka
            report = self.report = self.submission.run(
                own,
                keys,
                run_id,
                lambda path: self.job(context, path, run_id),
                self.planned_records(context),
            )
            metrics.of_run(report)
            return to_xcom(self._checked_report(report))

    def on_kill(self) -> None:
        self.submission.kill()

    def _checked_report(self, report: Report) -> Report:
        if report.problem is not None and report.problem.code not in CHECK_CODES:
            raise report.problem.error()
        for line in summary(report):
            self.log.info("%s", line)
        if report.problem is not None:
            self.log.warning(
                "%s; a check task names the check: %s", self.judged, report.problem.code
            )
        return report


@contextmanager
def recorded_run(pipeline: str, run_id: str, kind: Kind) -> Iterator[Path | None]:
    """Yields the file with the root's keys, if there is one. If the block fails, ops.runs has a row
    of it.
    """
    from spark_jobs.runs.unbegun import recorded  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

    with root_credentials(pipeline) as keys, recorded(pipeline, run_id, kind=kind):
        yield keys
