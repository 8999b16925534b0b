"""The DAG of a pipeline with an invalid spec: it takes the place of the pipeline's DAG, and every
run of it fails.

Airflow removes all DAGs of a file with an import error. With this DAG, an invalid spec stops only
its own pipeline.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, CronDataIntervalTimetable

from sluice_airflow.dag import TAG
from sluice_airflow.retries import one_line_errors
from spark_jobs.contract.errors import SluiceError, SpecInvalid


class RefusedOperator(BaseOperator):
    """Raises SpecInvalid with the reason."""

    def __init__(self, *, why: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.why = why

    def execute(self, context: Context) -> None:  # noqa: ARG002 - Airflow passes it
        with one_line_errors(self.log):
            raise SpecInvalid(self.why, "Correct the spec, then check it with `sluice validate`.")


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
        RefusedOperator(task_id="spec", why=why, retries=0)
    return dag
