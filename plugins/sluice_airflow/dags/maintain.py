"""The DAG sluice_maintain: what `sluice maintain --execute` does, on a schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, CronTriggerTimetable

from sluice_airflow import ids
from sluice_airflow.connections.kafka import settings_of
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.dags.own import NONE, Own
from sluice_airflow.retries import ARGUMENTS, one_line_errors
from sluice_airflow.telling.told import CALLBACKS
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import maintain_cron

ABOUT = """Joins small files of the pipelines' tables and of the ops tables, and removes old files,
ops rows and reports that nobody needs. One task a pipeline, one at a time, each under the
pipeline's lease: while a drain works, the task is retried. `SLUICE_MAINTAIN_CRON` sets the
schedule, `SLUICE_HISTORY_DAYS` and `SLUICE_REJECTED_DAYS` what is kept."""
PATIENCE = {
    "retries": 6,
    "retry_delay": timedelta(minutes=5),
    "max_retry_delay": timedelta(hours=1),
}
"""A drain may hold the lease for hours."""


class MaintainOperator(BaseOperator):
    """Maintains one pipeline, then the files of the ops tables.

    Raises what `sluice maintain` raises.
    """

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline

    def execute(self, context: Context) -> None:  # noqa: ARG002 - Airflow passes it
        from spark_jobs.admin.maintain import maintain, maintain_ops  # noqa: PLC0415 - reads tables, which parsing a DAG does not

        with one_line_errors(self.log), root_credentials(self.pipeline):
            settings = settings_of(self.pipeline)
            try:
                spec = live_spec(registry.load(self.pipeline), settings.root)
                intent = maintain(spec, settings)
                done = (intent.execute() or ()) if intent.execute else intent.lines
                for line in done:
                    self.log.info("%s", line)
            finally:
                ops = maintain_ops(settings)
                if ops.execute:
                    ops.execute()


def maintain_dag(tag: str, own: Own = NONE) -> DAG:
    """The DAG. A schedule that is not valid is replaced by the default: its tasks say so."""
    cron = maintain_cron()
    with DAG(
        dag_id=ids.maintains(),
        description="join small files, remove what has expired",
        doc_md=ABOUT,
        schedule=CronTriggerTimetable(cron, timezone="UTC") if cron else None,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        max_active_tasks=1,
        tags=[tag, *own.tags],
        default_args={**ARGUMENTS, **PATIENCE, **CALLBACKS, **own.arguments},
        auto_register=False,
    ) as dag:
        for name in (*registry.names(), *registry.archives()):
            MaintainOperator(task_id=name, pipeline=name)
    return dag
