"""The tasks of a drain: plan -> drain -> [check_output, check_state] -> publish, and behind them
repair, where the spec says that repairs follow drains. They are a pipeline's DAG, or a group in a
DAG of one's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import TaskGroup, TriggerRule

from sluice_airflow.entered import enter_project
from sluice_airflow.retries import ARGUMENTS
from sluice_airflow.tasks.checks import CheckOperator
from sluice_airflow.tasks.operators import DrainOperator, PlanOperator
from sluice_airflow.tasks.publish import PublishOperator
from sluice_airflow.tasks.xcom import CHECK_OUTPUT, CHECK_STATE, DRAIN, PLAN, PUBLISH, REPAIR
from sluice_airflow.telling.told import CALLBACKS, on_skipped
from spark_jobs.registry import find as registry
from spark_jobs.spec import Pipeline
from spark_jobs.spec.analysis.ranged import unmended, unranged


def drain_group(
    pipeline: str, *, group_id: str = "", default_args: Mapping[str, Any] | None = None
) -> TaskGroup:
    """A group of the tasks that drain a pipeline, judge its rows and publish them.

    It is in the DAG around the call. A task behind it runs once publish has told of new rows, and
    is skipped with publish if its trigger rule says so.

    `group_id` is the pipeline's name without one. `default_args` are Airflow's, of the group's
    tasks. Sluice's own retries and messages override those of the DAG.

    The DAGs that `dags()` makes repair and accept; a drain of one waits for another's lease. Leave
    the pipeline's own DAG paused, or both drain. Raises PipelineUnknown or SpecInvalid.
    """
    enter_project()
    spec = registry.load(pipeline)
    arguments = {**ARGUMENTS, **CALLBACKS, **(default_args or {})}
    with TaskGroup(group_id or pipeline, tooltip=spec.about, default_args=arguments) as group:  # type: ignore[arg-type]  # Airflow's own
        drain_tasks(spec, materializes=False)  # Airflow's button would not know which DAG to run
    return group


def drain_tasks(spec: Pipeline, *, materializes: bool = True) -> None:
    """Add them to the DAG, or to the group, around the call."""
    plan = PlanOperator(task_id=PLAN, pipeline=spec.name)
    drain = DrainOperator(
        task_id=DRAIN,
        pipeline=spec.name,
        execution_timeout=spec.schedule.execution_timeout,
    )
    output = CheckOperator(task_id=CHECK_OUTPUT, pipeline=spec.name, suite="output")
    state = CheckOperator(task_id=CHECK_STATE, pipeline=spec.name, suite="state")
    # Not all_success: where nothing is to be drained, and something to be published, plan skips
    # the tasks between.
    publish = PublishOperator(
        task_id=PUBLISH,
        pipeline=spec.name,
        materializes=materializes,
        by_day=spec.entry is not None and unranged(spec) is None,
        trigger_rule=TriggerRule.NONE_FAILED,
    )
    plan >> drain >> [output, state] >> publish
    if spec.ranges.repair == "after drain" and unmended(spec) is None:
        from sluice_airflow.tasks.after_drain import RepairOperator  # noqa: PLC0415 - its base loads what no other DAG needs

        # A teardown: whatever comes of it, the run's verdict is that of its drain.
        repair = RepairOperator(task_id=REPAIR, pipeline=spec.name, on_skipped_callback=on_skipped)
        publish >> repair.as_teardown()
