"""The DAG of a pipeline whose DAGs cannot be built: it takes their place, and every run of it fails
with the error.

Airflow removes all DAGs of a file with an import error. With this DAG, an invalid spec stops only
its own pipeline.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, CronDataIntervalTimetable

from sluice_airflow import ids
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.dags.dag import TAG
from sluice_airflow.dags.own import NONE, Own
from sluice_airflow.retries import attempt, one_line_errors
from sluice_airflow.telling.told import CALLBACKS
from spark_jobs.errors import SluiceError, SpecInvalid
from spark_jobs.messages.report import Problem


class RefusedOperator(BaseOperator):
    """Raises the error, after the row of this run is in ops.runs. `problem` is a Problem as JSON:
    Airflow carries text.
    """

    def __init__(self, *, pipeline: str, problem: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.problem = problem

    def execute(self, context: Context) -> None:
        from spark_jobs.runs.unbegun import recorded  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

        with (
            one_line_errors(self.log),
            root_credentials(self.pipeline),
            recorded(self.pipeline, attempt(context)),
        ):
            raise Problem.model_validate_json(self.problem).error()


def refused_dag(pipeline: str, error: Exception, own: Own = NONE) -> DAG:
    """A DAG with the pipeline's id that fails every hour with the error."""
    if not isinstance(error, SluiceError):
        error = SpecInvalid.dag_refused(why=f"{type(error).__name__}: {error}")
    with DAG(
        dag_id=ids.drains(pipeline),
        description=f"REFUSED: {error.what}"[:1000],
        doc_md=f"### {pipeline}: {error.code}\n\n```\n{error.what}\n{error.remedy}\n```\n",
        schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC"),
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        tags=[TAG, "spec refused", *own.tags],
        default_args={**own.arguments},
        auto_register=False,
    ) as dag:
        problem = Problem.of(error).model_dump_json()
        RefusedOperator(task_id="spec", pipeline=pipeline, problem=problem, retries=0, **CALLBACKS)
    return dag
