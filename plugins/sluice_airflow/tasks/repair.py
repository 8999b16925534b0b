"""The tasks of a repair beside its checks and its approval: plan, stage and swap."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from airflow.sdk import BaseOperator, Context, SkipMixin
from airflow.sdk.exceptions import AirflowSkipException

from sluice_airflow import metrics
from sluice_airflow.connections.kafka import settings_of
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.lineage.operator import TellsLineage
from sluice_airflow.retries import attempt, last_try, one_line_errors
from sluice_airflow.tasks import rebuild
from sluice_airflow.tasks.form import request_of
from sluice_airflow.tasks.submission import Submission
from sluice_airflow.tasks.submit import CONNECTION, SubmitOperator, recorded_run
from sluice_airflow.tasks.xcom import planned_repair, plans_rebuild
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.errors import StagingStale
from spark_jobs.messages.job import Run, Stage
from spark_jobs.messages.kind import KINDS, Kind, Writes
from spark_jobs.registry import find as registry
from spark_jobs.settings.roots import root_of
from spark_jobs.storage.root.paths import Paths

RUN_OF = "repair-"


class PlanRepairOperator(BaseOperator, SkipMixin):
    """Finds the ranges and their records, logs the plan, and writes it where the stage reads it.

    Skips all later tasks if there is nothing to do. Returns the repair's id and what the tasks
    after it need. Raises what a stage would raise before it starts Spark.
    """

    inherits_from_skipmixin = True

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline

    def execute(self, context: Context) -> dict[str, Any]:
        from spark_jobs.repair.planner import plan_repair  # noqa: PLC0415 - loads the Kafka client, which parsing a DAG does not need
        from spark_jobs.runs.unbegun import recorded  # noqa: PLC0415 - loads delta-rs, likewise

        def last(error: Exception) -> bool:
            return last_try(context, error)

        asked = dict(context["params"]).get("kind")
        kind: Kind = asked if asked in KINDS else "repair"
        with (
            one_line_errors(self.log),
            root_credentials(self.pipeline),
            recorded(self.pipeline, attempt(context, RUN_OF), last, kind),
        ):
            settings, request = settings_of(self.pipeline), request_of(context)
            if request.facts.whole:
                self.log.info("asked by %s: rebuild", request.who)
                return rebuild.plan(self.pipeline, settings, request)
            spec = registry.load(self.pipeline)
            asked = f"{request.span} UTC" if request.span else request.keys or "what needs it"
            spec = live_spec(spec, settings.root)
            self.log.info("asked by %s: %s of %s", request.who, request.kind, asked)
            planned = plan_repair(spec, settings, request)
            if not planned.idle:
                planned.store(Paths(settings.root, spec))
        for line in planned.lines:
            self.log.info("%s", line)
        if planned.idle:
            self.skip(context["ti"], context["task"].get_flat_relatives(upstream=False))
        return {
            "repair_id": planned.repair_id,
            "kind": planned.kind,
            "offsets": planned.offsets,
            "idle": planned.idle,
        }


class StageOperator(SubmitOperator):
    """Submits the computation of the planned rows to Spark, which compares them with the table's;
    of a rebuild, drains of NEXT beside it. The table stays as it is.
    """

    kind = "repair"
    run_of = RUN_OF
    judged = "the rows are staged, and the table is as it was"
    repair_id = ""

    def pre_execute(self, context: Context) -> None:
        # That of a drain is for what has come since the last one, and not for the whole history.
        if plans_rebuild(context):
            self.execution_timeout = None

    def execute(self, context: Context) -> dict[str, Any]:
        if not plans_rebuild(context):
            self.kind = planned_repair(context)["kind"]
            return super().execute(context)
        run, request = attempt(context, RUN_OF), request_of(context)
        with one_line_errors(self.log), recorded_run(self.pipeline, run, request.kind) as keys:
            own = self.submission.settings()
            submit = partial(self.submission.run, own._replace(next="on"), keys)
            return rebuild.stage(self.pipeline, run, own, request, submit)

    def job(self, context: Context, report: Path, run_id: str) -> Run:
        planned = planned_repair(context)
        self.repair_id = planned["repair_id"]
        return Stage(
            pipeline=self.pipeline,
            kind=planned["kind"],
            repair_id=self.repair_id,
            report=str(report),
            run_id=run_id,
        )

    def planned_records(self, context: Context) -> int:
        return int(planned_repair(context).get("offsets", 0))

    def lineage(self) -> Any:
        from sluice_airflow.lineage import datasets, tasks  # noqa: PLC0415 - loads OpenLineage's client, only where it is configured

        data = datasets.of(self.pipeline, self.brokers)
        return tasks.of_stage(data, self.repair_id, self.report)


class SwapOperator(TellsLineage, BaseOperator):
    """Puts the staged rows into the table, in one commit, without a JVM. Of a rebuild it switches,
    and starts one only where NEXT must catch up with the live pipeline.

    Skips itself, and so publish, where nothing is to be changed: at a verify. Raises LeaseHeld
    while a drain works, and StagingStale if the table's rows have changed since the stage.
    """

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self.submission = Submission(pipeline, CONNECTION)
        self.done: dict[str, Any] | None = None

    def execute(self, context: Context) -> dict[str, Any]:
        planned = planned_repair(context)
        if KINDS[planned["kind"]].writes is Writes.NOTHING:
            raise AirflowSkipException("a verify changes nothing")
        if plans_rebuild(context):
            run, request = attempt(context, RUN_OF), request_of(context)
            with one_line_errors(self.log), root_credentials(self.pipeline) as keys:
                own = self.submission.settings()
                submit = partial(self.submission.run, own._replace(next="on"), keys)
                return rebuild.swap(context, self.pipeline, run, own, request, submit)
        from spark_jobs.repair.swap import swap  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

        # Of stale rows the task plan is cleared, which plans and stages again.
        with one_line_errors(self.log, final=StagingStale), root_credentials(self.pipeline):
            spec = registry.load(self.pipeline)
            where = root_of(spec)
            done = swap(
                live_spec(spec, where),
                where,
                planned["repair_id"],
                attempt(context, RUN_OF),
            )
        if done.table_version is None:
            self.log.info("%s: the table has these rows already", self.pipeline)
        else:
            self.log.info(
                "%s: the rows are in version %s of the table: %s added, %s removed, %s changed",
                self.pipeline,
                done.table_version,
                f"{done.added:,}",
                f"{done.removed:,}",
                f"{done.changed:,}",
            )
            if not done.passed:
                self.log.warning("a verdict is open: the next drain judges these rows first")
        self.done = dict(done._asdict())
        metrics.of_swap(self.pipeline, planned["kind"], self.done)
        return self.done

    def on_kill(self) -> None:
        self.submission.kill()

    def lineage(self) -> Any:
        from sluice_airflow.lineage import datasets, tasks  # noqa: PLC0415 - loads OpenLineage's client, only where it is configured

        return tasks.of_swap(datasets.of(self.pipeline), self.done)
