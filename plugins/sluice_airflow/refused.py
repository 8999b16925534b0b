"""The DAG of a pipeline whose spec was refused: it keeps the place, and fails aloud whenever it runs.

Airflow knows import errors by file, and takes every DAG of such a file away. One bad spec must stop one pipeline.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, CronDataIntervalTimetable

from sluice_airflow.dag import TAG
from sluice_airflow.retries import told_in_one_line
from spark_jobs.contract.errors import SluiceError, SpecInvalid


class RefusedOperator(BaseOperator):
    """Fail, saying why the spec was refused."""

    def __init__(self, *, why: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.why = why

    def execute(self, context: Context) -> None:  # noqa: ARG002 - Airflow passes it
        with told_in_one_line(self.log):
            raise SpecInvalid(self.why, "Correct the spec; `sluice validate` says when it is right.")


def stand_in(pipeline: str, error: Exception) -> DAG:
    """A DAG that fails every hour with the reason, in the place of one that cannot be built."""
    why = error.what if isinstance(error, SluiceError) else f"{type(error).__name__}: {error}"
    with DAG(
        dag_id=pipeline,
        description=f"REFUSED: {why}"[:1000],
        doc_md=f"### {pipeline}: its spec was refused\n\n```\n{why}\n```\n",
        schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC"),
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        tags=[TAG, "spec refused"],
        auto_register=False,
    ) as dag:
        RefusedOperator(task_id="spec", why=why, retries=0)
    return dag
