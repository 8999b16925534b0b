"""The DAG that computes ranges of a pipeline's output again, or all of it: plan -> stage ->
[check_output, check_change] -> approve -> swap -> publish.
"""

from __future__ import annotations

from airflow.sdk import DAG

from sluice_airflow import ids
from sluice_airflow.dags import backfill_text
from sluice_airflow.dags.own import NONE, Own
from sluice_airflow.dags.run_types import OF_BACKFILLS, OF_REBUILDS
from sluice_airflow.dags.timetable import OnRequest
from sluice_airflow.retries import ARGUMENTS, SWAP_ARGUMENTS
from sluice_airflow.tasks.approve import ConfirmOperator
from sluice_airflow.tasks.checks import CheckOperator
from sluice_airflow.tasks.form import params
from sluice_airflow.tasks.publish import PublishOperator
from sluice_airflow.tasks.repair import PlanRepairOperator, StageOperator, SwapOperator
from sluice_airflow.tasks.xcom import APPROVE, CHECK_OUTPUT, PLAN, PUBLISH, STAGE, SWAP
from sluice_airflow.telling.told import CALLBACKS
from spark_jobs.messages.kind import kinds_by_key
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import unranged

TAG = "sluice backfill"
EVERY = {"hour": "0 * * * *", "day": "0 0 * * *"}
"""`ranges.every` -> the cron expression whose intervals Airflow's backfill has, in UTC."""


def build_backfill(spec: Pipeline, own: Own = NONE) -> DAG:
    """The DAG of a pipeline. Nothing schedules it: a person triggers it, or makes a backfill with
    it. Of one without ranges (analysis/ranged.py) it takes a rebuild alone, or keys, and no
    backfill.
    """
    name, why = spec.name, unranged(spec)
    by_keys, all_of_it = f"compute keys of {name} again", f"compute all of {name} again"
    with DAG(
        dag_id=ids.backfills(name),
        description=f"{by_keys if spec.keyed else all_of_it} beside the live table"
        if why
        else f"compute ranges of {name} again: late or bad records, a backfill, a proof",
        doc_md=backfill_text.page(spec),
        # With data intervals, Airflow would offer a backfill, a run for each.
        schedule=None if why else OnRequest(EVERY[spec.ranges.every], timezone="UTC"),
        catchup=False,
        max_active_runs=1,
        allowed_run_types=OF_REBUILDS if why else OF_BACKFILLS,
        # A paused DAG runs no backfill, and says nothing of it.
        is_paused_upon_creation=False,
        tags=[TAG, *own.tags],
        default_args={**ARGUMENTS, **CALLBACKS, **own.arguments},
        params=params(why, keyed=kinds_by_key(spec)),
        auto_register=False,
    ) as dag:
        plan = PlanRepairOperator(task_id=PLAN, pipeline=name)
        stage = StageOperator(
            task_id=STAGE, pipeline=name, execution_timeout=spec.schedule.execution_timeout
        )
        output = CheckOperator(task_id=CHECK_OUTPUT, pipeline=name, suite="output", of=STAGE)
        change = CheckOperator(task_id="check_change", pipeline=name, suite="change", of=STAGE)
        approve = ConfirmOperator(task_id=APPROVE, pipeline=name)
        swap = SwapOperator(task_id=SWAP, pipeline=name, **SWAP_ARGUMENTS)
        publish = PublishOperator(
            task_id=PUBLISH, pipeline=name, materializes=False, by_day=why is None
        )
        plan >> stage >> [output, change] >> approve >> swap >> publish
    dag.validate()  # type: ignore[no-untyped-call]  # Airflow's own
    return dag
