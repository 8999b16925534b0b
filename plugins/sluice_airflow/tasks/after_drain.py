"""The task repair: it starts the backfill DAG behind a drain when late records or outdated rows
wait.
"""

from __future__ import annotations

from typing import Any

from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowSkipException

from sluice_airflow import ids
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.ids import group_of
from sluice_airflow.retries import attempt, one_line_errors
from sluice_airflow.tasks.xcom import OF_DRAIN
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.registry import find as registry
from spark_jobs.settings.roots import root_of
from spark_jobs.storage.root.paths import Paths

AT_WORK = ["queued", "running"]
"""States of a DAG run. One that waits for a person's approval is running."""
FAILED = {"failed", "upstream_failed"}


class RepairOperator(TriggerDagRunOperator):
    """Triggers one run of the kind repair, and does not wait for it.

    Skips itself where a task of the run failed, where a run of the backfill DAG is queued or at
    work, and where neither a late record nor an outdated row waits that no repair has tried.
    """

    looked = False
    """Whether it came as far as to look for late records: what it could not do before is over."""

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(
            trigger_dag_id=ids.backfills(pipeline),
            conf={"kind": "repair", "note": "late records or outdated rows, found behind a drain"},
            # A date would hide one day from a later backfill by Airflow's form.
            logical_date=None,
            # The next drain comes first; and until the last try this run would hold it up.
            **kwargs | {"retries": 0},
        )
        self.pipeline = pipeline

    def execute(self, context: Context) -> None:
        """Raises Airflow's DagRunTriggerException, by which the task runner triggers."""
        ti, run_id = context["ti"], context["run_id"]
        # All of the drain's: in a run that a person has marked as failed, publish is skipped.
        states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[run_id]).get(run_id, {})
        ids = {f"{group_of(context)}{name}" for name in OF_DRAIN}
        failed = sorted(name for name, state in states.items() if name in ids and state in FAILED)
        if failed:
            raise AirflowSkipException(f"{', '.join(failed)} of this run failed")
        if ti.get_dr_count(dag_id=self.trigger_dag_id, states=AT_WORK):
            raise AirflowSkipException(
                f"a run of {self.trigger_dag_id} is queued or at work: what it leaves is found "
                "behind the next run of this DAG"
            )
        from spark_jobs.repair.find.ranges_due import RUN_PREFIX, untried  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

        with one_line_errors(self.log), root_credentials(self.pipeline):
            spec = registry.load(self.pipeline)
            spec = live_spec(spec, where := root_of(spec))
            waits = untried(spec, Paths(where, spec))
        self.looked = True
        if not waits:
            raise AirflowSkipException(
                "neither a late record nor an outdated row waits that no repair has tried yet"
            )
        self.log.info("%s late records or outdated ranges wait for a repair", f"{waits:,}")
        self.trigger_run_id = f"{RUN_PREFIX}{attempt(context)}"
        super().execute(context)
