"""Publish: tell everyone downstream that a table has a new version, by an asset event."""

from __future__ import annotations

from typing import Any

from airflow.sdk import Asset, BaseOperator, Context

from sluice_airflow.retries import told_in_one_line
from sluice_airflow.xcom import handed_over
from spark_jobs.contract import event, registry
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import root


def asset_of(pipeline: str) -> Asset:
    """The asset that a pipeline's table is. Airflow leaves URIs whose scheme starts with x- as they are."""
    return Asset(name=pipeline, uri=f"x-sluice://tables/{pipeline}", group="sluice")


class PublishOperator(BaseOperator):
    """Emit the asset event. Its extra says which version of the table to read, and what that version was made from."""

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        self.pipeline = pipeline
        self.asset = asset_of(pipeline)
        super().__init__(outlets=[self.asset], **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:
        with told_in_one_line(self.log):
            report = handed_over(context)
            if report.problem is not None:
                raise report.problem.error()
            # The root alone: a Kafka that is declared wrongly by now must not keep back what has passed its checks.
            table = Paths(root(), registry.load(self.pipeline)).table
        extra = event.extra(report, str(table))
        context["outlet_events"][self.asset].extra = extra
        self.log.info("published version %s of %s", report.table_version, table)
        return extra
