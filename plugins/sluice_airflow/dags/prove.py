"""The DAG sluice_prove: what `sluice prove --execute` does, every night."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, BaseOperator, Context, CronTriggerTimetable

from sluice_airflow import ids, metrics
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.dags.own import NONE, Own
from sluice_airflow.retries import ARGUMENTS, one_line_errors
from sluice_airflow.tasks.submission import Submission
from sluice_airflow.tasks.submit import CONNECTION
from sluice_airflow.telling.told import CALLBACKS
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.messages.job import Stage
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import proves
from spark_jobs.spec.analysis.ranged import unranged
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.messages.report import Report
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.settings.installation import Settings

ABOUT = """Verifies published days, oldest proof first: each is computed again from its records and
compared with the table. `SLUICE_PROOF` is the share of the last week's drains that it may take;
while it is off, the DAG has no schedule. A day that is wrong fails the task, every night until its
rows are changed."""
CRON = "41 1 * * *"


class ProveOperator(BaseOperator):
    """Does one night's proofs of a pipeline. Raises what `sluice prove` raises."""

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.submission = Submission(pipeline, CONNECTION)

    def execute(self, context: Context) -> None:  # noqa: ARG002 - Airflow passes it
        from spark_jobs.prove.night import prove, tonight  # noqa: PLC0415 - reads tables, which parsing a DAG does not

        with one_line_errors(self.log), root_credentials(self.pipeline) as keys:
            settings = self.submission.settings()
            spec = live_spec(registry.load(self.pipeline), settings.root)
            paths = Paths(settings.root, spec)
            night = tonight(spec, settings, paths, datetime.now(UTC))
            for line in night.lines:
                self.log.info("%s", line)
            metrics.of_proofs(self.pipeline, night.published, night.proved, len(night.refuted))
            verify = partial(self._verify, settings, paths, keys)
            prove(spec, settings, night, "Airflow", verify, self.log.info)

    def on_kill(self) -> None:
        self.submission.kill()

    def _verify(
        self, settings: Settings, paths: Paths, keys: Path | None, plan: RepairPlan, run_id: str
    ) -> Report:
        plan.store(paths)

        def job(path: Path) -> Stage:
            return Stage(
                pipeline=self.pipeline,
                kind=plan.kind,
                repair_id=plan.repair_id,
                report=str(path),
                run_id=run_id,
            )

        report = self.submission.run(settings, keys, run_id, job, plan.offsets)
        metrics.of_run(report)
        return report


def prove_dag(tag: str, own: Own = NONE) -> DAG:
    """The DAG, with a task for each pipeline whose days can be computed again."""
    with DAG(
        dag_id=ids.proves(),
        description="verify published days, oldest proof first",
        doc_md=ABOUT,
        schedule=CronTriggerTimetable(CRON, timezone="UTC") if proves() else None,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        max_active_tasks=1,
        tags=[tag, *own.tags],
        default_args={**ARGUMENTS, **CALLBACKS, **own.arguments},
        auto_register=False,
    ) as dag:
        for name in registry.names():
            if _by_day(name):
                ProveOperator(task_id=name, pipeline=name)
    return dag


def _by_day(name: str) -> bool:
    """Not of an invalid spec, which must not remove the other pipelines' proofs."""
    try:
        return unranged(registry.load(name)) is None
    except Exception:  # noqa: BLE001 - as above: its own DAG says what is wrong
        return False
