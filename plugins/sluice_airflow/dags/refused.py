"""The DAG of a pipeline with an invalid spec: it takes the place of the pipeline's DAG, and every
run of it fails.

Airflow removes all DAGs of a file with an import error. With this DAG, an invalid spec stops only
its own pipeline.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, CronDataIntervalTimetable

from sluice_airflow.connections.root import root_credentials
from sluice_airflow.dags.dag import TAG
from sluice_airflow.retries import attempt, one_line_errors
from sluice_airflow.telling.told import CALLBACKS
from spark_jobs.errors import SluiceError, SpecInvalid


class RefusedOperator(BaseOperator):
    """Raises SpecInvalid with the reason, after the row of this run is in ops.runs."""

    def __init__(self, *, pipeline: str, why: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.why = why

    def execute(self, context: Context) -> None:
        from spark_jobs.runs.run_record import recorded  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

        with (
            one_line_errors(self.log),
            root_credentials(),
            recorded(self.pipeline, attempt(context)),
        ):
            raise SpecInvalid.dag_refused(why=self.why)


def refused_dag(pipeline: str, error: Exception) -> DAG:
    """A DAG with the pipeline's id that fails every hour with the reason.

    It replaces the DAG that cannot be built.
    """
    why = error.what if isinstance(error, SluiceError) else f"{type(error).__name__}: {error}"
    with DAG(
        dag_id=pipeline,
        description=f"REFUSED: {why}"[:1000],
        doc_md=f"### {pipeline}: its spec is invalid\n\n```\n{why}\n```\n",
        schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC"),
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        tags=[TAG, "spec refused"],
        auto_register=False,
    ) as dag:
        RefusedOperator(task_id="spec", pipeline=pipeline, why=why, retries=0, **CALLBACKS)
    return dag
