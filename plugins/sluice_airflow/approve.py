"""The approval of a repair: a person sees what it would change, and says yes or no."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Context

from sluice_airflow import rebuild
from sluice_airflow.change_text import body
from sluice_airflow.kafka import task_settings
from sluice_airflow.retries import one_line_errors
from sluice_airflow.root import root_credentials
from sluice_airflow.xcom import SHOWN, STAGE, planned_repair, plans_rebuild
from spark_jobs.checkpoint.live import live_spec
from spark_jobs.contract import registry
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import root

if TYPE_CHECKING:
    from upath import UPath

PATIENCE = timedelta(days=7)
"""After it the run fails, and the table is as it was."""
SAMPLE_ROWS = 20


class ConfirmOperator(ApprovalOperator):
    """Waits for a person where the staged change needs one, and always at a rebuild; else returns
    at once.

    The task waits without a worker's slot. Reject skips the tasks behind it: the table stays as it
    is. Whoever approved is in the repair's manifest, without which the swap refuses.
    """

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(
            subject=f"{pipeline}: change the table?",
            response_timeout=PATIENCE,
            ignore_downstream_trigger_rules=True,
            **kwargs,
        )
        self.pipeline = pipeline

    @property
    def hitl_summary(self) -> dict[str, Any]:
        """What listeners are told, for example OpenLineage's: without the rows."""
        return super().hitl_summary | {"body": None}

    def execute(self, context: Context) -> Any:
        """Raises Airflow's TaskAwaitingInput while a person is needed."""
        if planned_repair(context)["kind"] == "verify":
            self.log.info("a verify changes nothing: nobody is asked")
            return None
        if plans_rebuild(context):
            with one_line_errors(self.log), root_credentials():
                waits = (context["ti"].xcom_pull(task_ids=STAGE) or {}).get("waits", "")
                self.body, about = rebuild.question(
                    planned_repair(context), waits, self.pipeline, task_settings()
                )
            context["ti"].xcom_push(key=SHOWN, value=about)
            return super().execute(context)
        from spark_jobs.repair.manifest import read_manifest  # noqa: PLC0415 - loads delta-rs's types, which parsing a DAG does not need

        with one_line_errors(self.log), root_credentials():
            paths = _paths(self.pipeline)
            manifest = read_manifest(paths, repair_id := planned_repair(context)["repair_id"])
            if manifest.approved:
                who = manifest.approved_by
                self.log.info("approved by %s", who) if who else self.log.info("no need to ask")
                return None
            # Set here, and so not rendered by Jinja: the rows come from Kafka.
            self.body = body(manifest, _sample(paths.staging(repair_id) / "changes"))
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Airflow calls it with the answer. On Reject it skips what comes behind."""
        # Of a rebuild the swap asks for the answer itself, in this task's XCom, and for what it was
        # about, which `execute` left beside it.
        if event.get("chosen_options") == [self.APPROVE] and not plans_rebuild(context):
            user = event.get("responded_by_user") or {}
            with one_line_errors(self.log), root_credentials():
                self._approve(planned_repair(context)["repair_id"], user.get("name") or "unknown")
        return super().execute_complete(context, event)

    def _approve(self, repair_id: str, who: str) -> None:
        from spark_jobs.repair.manifest import approve  # noqa: PLC0415 - as above

        approve(_paths(self.pipeline), repair_id, who)
        self.log.info("approved by %s", who)


def _paths(pipeline: str) -> Paths:
    return Paths(root(), live_spec(registry.load(pipeline), root()))


def _sample(changes: UPath) -> list[dict[str, Any]]:
    """Some of the changed rows, first those that no record explains; none if there is no such
    table.
    """
    from pyarrow import dataset

    from spark_jobs.storage.delta import is_table, open_table  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

    if not is_table(changes):
        return []
    stored = open_table(changes).to_pyarrow_dataset()
    rows: list[dict[str, Any]] = []
    for explained in (False, True):
        wanted = dataset.field("explained") == explained
        rows += stored.head(SAMPLE_ROWS - len(rows), filter=wanted).to_pylist()
    return rows
