"""The DAG with which a person decides in Airflow's UI what `sluice accept` decides at a terminal.

Each pipeline has its own: Airflow gives rights by DAG, and who may trigger one may accept that
pipeline's rows, and no other's.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, Param

from sluice_airflow import ids
from sluice_airflow.connections.kafka import settings_of
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.dags.own import NONE, Own
from sluice_airflow.retries import one_line_errors
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.registry import find as registry

TAG = "sluice accept"
ABOUT = """Publish rows of `{0}` although a critical check failed. Trigger it with every check that
failed (the task check_output or check_state names them) and the reason. The next run of `{0}`
publishes; consumers see the decision in the asset event, and `ops.checks` keeps it. The rows must
be those that the last run judged, or the task fails and says why."""


class AcceptOperator(BaseOperator):
    """Carries out the decision in the DAG run's params. Raises what `sluice accept` raises."""

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline

    def execute(self, context: Context) -> None:
        from spark_jobs.admin.accept import accept  # noqa: PLC0415 - reads tables, which parsing a DAG does not

        params: dict[str, Any] = dict(context["params"])
        with one_line_errors(self.log), root_credentials(self.pipeline):
            settings = settings_of(self.pipeline)
            spec = live_spec(registry.load(self.pipeline), settings.root)
            names = tuple(params["checks"])
            by = getattr(context["dag_run"], "triggering_user_name", None) or "Airflow"
            decided = accept(spec, settings, names, params["reason"], by)
            assert decided.execute is not None
            for line in (*decided.lines, *(decided.execute() or ())):
                self.log.info("%s", line)


def accept_dag(pipeline: str, own: Own = NONE) -> DAG:
    """The DAG of a pipeline. It has no schedule: a person triggers it."""
    with DAG(
        dag_id=ids.accepts(pipeline),
        description=f"publish rows of {pipeline} although a critical check failed: a person's "
        "decision",
        doc_md=ABOUT.format(pipeline),
        schedule=None,
        catchup=False,
        # A paused DAG runs nothing, and says nothing of it.
        is_paused_upon_creation=False,
        tags=[TAG, *own.tags],
        default_args={**own.arguments},
        params={
            "checks": Param(
                type="array",
                items={"type": "string"},
                minItems=1,
                description="each critical check that failed, for example "
                "expect_column_values_to_be_between(flights)",
            ),
            "reason": Param(
                type="string", minLength=1, description="why the rows may be published"
            ),
        },
        auto_register=False,
    ) as dag:
        AcceptOperator(task_id="accept", pipeline=pipeline, retries=0)
    return dag
