"""The DAG sluice_accept: a person decides in Airflow's UI what `sluice accept` decides at a
terminal.
"""

from __future__ import annotations

from typing import Any

from airflow.sdk import DAG, BaseOperator, Context, Param

from sluice_airflow.kafka import task_settings
from sluice_airflow.retries import one_line_errors
from sluice_airflow.root import root_credentials
from spark_jobs.checkpoint.live import live_spec
from spark_jobs.contract import registry

DAG_ID = "sluice_accept"
ABOUT = """Publish rows although a critical check failed. Trigger it with the pipeline, every check
that failed (the task check_output or check_state names them) and the reason. The pipeline's next
run publishes; consumers see the decision in the asset event, and `ops.checks` keeps it. The rows
must be those that the last run judged, or the task fails and says why."""


class AcceptOperator(BaseOperator):
    """Carries out the decision in the DAG run's params. Raises what `sluice accept` raises."""

    def execute(self, context: Context) -> None:
        from spark_jobs.admin.accept import accept  # noqa: PLC0415 - reads tables, which parsing a DAG does not

        params: dict[str, Any] = dict(context["params"])
        with one_line_errors(self.log), root_credentials():
            settings = task_settings()
            spec = live_spec(registry.load(params["pipeline"]), settings.root)
            names = tuple(params["checks"])
            by = getattr(context["dag_run"], "triggering_user_name", None) or "Airflow"
            decided = accept(spec, settings, names, params["reason"], by)
            assert decided.execute is not None
            for line in (*decided.lines, *(decided.execute() or ())):
                self.log.info("%s", line)


def accept_dag(tag: str) -> DAG:
    """The DAG. It has no schedule: a person triggers it."""
    with DAG(
        dag_id=DAG_ID,
        description="publish rows although a critical check failed: a person's decision",
        doc_md=ABOUT,
        schedule=None,
        catchup=False,
        tags=[tag],
        params={
            "pipeline": Param(type="string", enum=[*registry.names()]),
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
        AcceptOperator(task_id="accept", retries=0)
    return dag
