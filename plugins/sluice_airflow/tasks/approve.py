"""The approval of a repair: a person sees what it would change, and says yes or no."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Context

from sluice_airflow.connections.kafka import settings_of
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.retries import one_line_errors
from sluice_airflow.tasks import rebuild
from sluice_airflow.tasks.change_text import body
from sluice_airflow.tasks.xcom import SHOWN, STAGE, planned_repair, plans_rebuild
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.messages.kind import KINDS, Writes
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import record_bytes
from spark_jobs.settings.roots import root_of
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.paths import Paths

PATIENCE = timedelta(days=7)
"""After it the run fails, and the table is as it was."""


class ConfirmOperator(ApprovalOperator):
    """Waits for a person where the staged change needs one, and always at a rebuild; else returns
    at once.

    The task waits without a worker's slot. Reject skips the tasks behind it: the table stays as it
    is, and the repair is rejected for good. The approver is in the repair's manifest, without which
    the swap refuses.
    """

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(
            subject=f"{pipeline}: change the table?",
            response_timeout=PATIENCE,
            ignore_downstream_trigger_rules=True,
            **kwargs,
        )
        self.pipeline = pipeline
        # What listeners are told, as OpenLineage's: without the rows. The provider that came with
        # Airflow 3.2 has an attribute; a later one makes it anew, with what is extra.
        getattr(self, "hitl_summary_extra", self.hitl_summary)["body"] = None

    def execute(self, context: Context) -> Any:
        """Raises Airflow's TaskAwaitingInput while a person is needed; SwapRefused for a repair
        that has ended, where the task was cleared after a Reject, and where the spec has no ranges
        any more; StagingStale where it is another one now. Nobody is asked of one that a swap has
        put into the table before it was killed.
        """
        if KINDS[planned_repair(context)["kind"]].writes is Writes.NOTHING:
            self.log.info("a verify changes nothing: nobody is asked")
            return None
        if plans_rebuild(context):
            with one_line_errors(self.log), root_credentials(self.pipeline):
                waits = (context["ti"].xcom_pull(task_ids=STAGE) or {}).get("waits", "")
                self.body, about = rebuild.question(
                    waits, self.pipeline, settings_of(self.pipeline)
                )
            context["ti"].xcom_push(key=SHOWN, value=about)
            return super().execute(context)
        from spark_jobs.ops import repairs  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need
        from spark_jobs.repair.exchange.exchange import is_going_in  # noqa: PLC0415 - as above
        from spark_jobs.repair.exchange.preconditions import refuse_ended  # noqa: PLC0415 - as above
        from spark_jobs.repair.exchange.staging import sample  # noqa: PLC0415 - as above
        from spark_jobs.repair.manifest import read_manifest  # noqa: PLC0415 - as above
        from spark_jobs.repair.swap import SETTLED, refuse_other_spec  # noqa: PLC0415 - as above

        with one_line_errors(self.log), root_credentials(self.pipeline):
            spec, paths = _live(self.pipeline)
            manifest = read_manifest(paths, repair_id := planned_repair(context)["repair_id"])
            if manifest.approved:
                who = manifest.approved_by
                self.log.info("approved by %s", who) if who else self.log.info("no need to ask")
                return None
            row = repairs.one(paths.root, self.pipeline, repair_id)
            if is_going_in(paths, repair_id) or (row and row["state"] in SETTLED):
                self.log.info("a swap of it has begun already: it cannot be declined")
                return None
            refuse_ended(manifest, row)
            refuse_other_spec(spec, manifest)
            # Set here, and so not rendered by Jinja: the rows come from Kafka.
            rows = sample(paths.staging(repair_id)) if record_bytes() else None
            self.body = body(manifest, rows)
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Airflow calls it with the answer. On Reject it skips what comes behind."""
        # Of a rebuild the swap asks for the answer itself, in this task's XCom, and for what it was
        # about, which `execute` left beside it.
        chosen = event.get("chosen_options")
        if chosen in ([self.APPROVE], [self.REJECT]) and not plans_rebuild(context):
            user = event.get("responded_by_user") or {}
            answer = self._approve if chosen == [self.APPROVE] else self._reject
            with one_line_errors(self.log), root_credentials(self.pipeline):
                answer(planned_repair(context)["repair_id"], user.get("name") or "unknown")
        return super().execute_complete(context, event)

    def _approve(self, repair_id: str, who: str) -> None:
        from spark_jobs.repair.manifest import approve  # noqa: PLC0415 - as above

        approve(_live(self.pipeline)[1], repair_id, who)
        self.log.info("approved by %s", who)

    def _reject(self, repair_id: str, who: str) -> None:
        from spark_jobs.repair.undo import reject  # noqa: PLC0415 - as above

        reject(_live(self.pipeline)[1], repair_id, who)


def _live(pipeline: str) -> tuple[Pipeline, Paths]:
    spec = registry.load(pipeline)
    spec = live_spec(spec, where := root_of(spec))
    return spec, Paths(where, spec)
