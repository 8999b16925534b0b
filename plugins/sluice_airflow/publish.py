"""The publish task: an asset event tells downstream DAGs that a table has a new version."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, BaseOperator, Context

from sluice_airflow.retries import one_line_errors
from sluice_airflow.xcom import report_from_xcom
from spark_jobs.contract import event, registry
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import root


def asset_of(pipeline: str) -> Asset:
    """The asset of a pipeline's table. Airflow does not normalise URIs whose scheme starts with x-."""
    return Asset(name=pipeline, uri=f"x-sluice://tables/{pipeline}", group="sluice")


class PublishOperator(BaseOperator):
    """Emits the asset event, and returns its extra: the table, the version to read, facts of the run (contract/event.py)."""

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        self.pipeline = pipeline
        self.asset = asset_of(pipeline)
        super().__init__(outlets=[self.asset], **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:
        with one_line_errors(self.log):
            report = report_from_xcom(context)
            if report.problem is not None:
                raise report.problem.error()
            # Only the root: a Kafka declaration that is wrong by now must not stop rows that passed their checks.
            table = Paths(root(), registry.load(self.pipeline)).table
        extra = event.extra(report, str(table))
        context["outlet_events"][self.asset].extra = extra
        self.log.info("published version %s of %s", report.table_version, table)
        return extra
