"""The DAG of a pipeline: plan -> drain -> [check_output, check_state] -> publish, and behind it
repair, where the spec says that repairs follow drains.
"""

from __future__ import annotations

from airflow.sdk import DAG, TriggerRule

from sluice_airflow import ids
from sluice_airflow.dags import text
from sluice_airflow.dags.own import NONE, Own
from sluice_airflow.dags.run_types import OF_DRAINS
from sluice_airflow.dags.start import start
from sluice_airflow.retries import ARGUMENTS
from sluice_airflow.tasks.checks import CheckOperator
from sluice_airflow.tasks.operators import DrainOperator, PlanOperator
from sluice_airflow.tasks.publish import PublishOperator
from sluice_airflow.tasks.xcom import DRAIN, PLAN, PUBLISH, REPAIR
from sluice_airflow.telling.told import CALLBACKS, on_skipped
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import unranged

TAG = "sluice"


def build(spec: Pipeline, own: Own = NONE) -> DAG:
    """The DAG of one pipeline.

    Raises Airflow's own errors, for example about a cron expression that never fires.
    """
    with DAG(
        dag_id=ids.drains(spec.name),
        description=spec.about,
        doc_md=text.page(spec),
        schedule=start(spec),
        start_date=spec.schedule.start,
        catchup=False,
        max_active_runs=1,
        allowed_run_types=OF_DRAINS,
        tags=[TAG, *own.tags],
        default_args={**ARGUMENTS, **CALLBACKS, **own.arguments},
        # Airflow finds the DAG as a name in dags/sluice.py. A DAG that fails the validation below
        # must not be found.
        auto_register=False,
    ) as dag:
        plan = PlanOperator(task_id=PLAN, pipeline=spec.name)
        drain = DrainOperator(
            task_id=DRAIN,
            pipeline=spec.name,
            execution_timeout=spec.schedule.execution_timeout,
        )
        output = CheckOperator(task_id="check_output", suite="output")
        state = CheckOperator(task_id="check_state", suite="state")
        # Not all_success: where nothing is to be drained, and something to be published, plan skips
        # the tasks between.
        publish = PublishOperator(
            task_id=PUBLISH,
            pipeline=spec.name,
            by_day=spec.entry is not None and unranged(spec) is None,
            trigger_rule=TriggerRule.NONE_FAILED,
        )
        plan >> drain >> [output, state] >> publish
        if spec.ranges.repair == "after drain" and unranged(spec) is None:
            from sluice_airflow.tasks.after_drain import RepairOperator  # noqa: PLC0415 - its base loads what no other DAG needs

            # A teardown: whatever comes of it, the run's verdict is that of its drain.
            repair = RepairOperator(
                task_id=REPAIR, pipeline=spec.name, on_skipped_callback=on_skipped
            )
            publish >> repair.as_teardown()
    dag.validate()  # type: ignore[no-untyped-call]  # Airflow's own
    return dag
