"""The tasks plan and drain.

Plan looks, without a JVM, for new work; drain submits the work to Spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from airflow.sdk import BaseOperator, Context, SkipMixin

from sluice_airflow.connections.kafka import settings_of
from sluice_airflow.connections.root import root_credentials
from sluice_airflow.ids import group_of
from sluice_airflow.retries import attempt, last_try, one_line_errors
from sluice_airflow.tasks.publish import announced, asset_of
from sluice_airflow.tasks.submit import SubmitOperator
from sluice_airflow.tasks.xcom import (
    CHECK_OUTPUT,
    CHECK_STATE,
    DRAIN,
    PUBLISH,
    planned_records,
)
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.messages.job import Drain, Run
from spark_jobs.registry import find as registry


class PlanOperator(BaseOperator, SkipMixin):
    """Logs what a drain would do, and skips the tasks that have nothing to do.

    Returns the plan as a dict.

    Without work for a drain, publish still runs if something passed and is not published: a run was
    killed before it, a person drained on the command line, or accepted a failed check.

    Raises a SluiceError that a drain would raise before it starts Spark, for example TopicMissing
    or StateIncompatible.
    """

    inherits_from_skipmixin = True

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        self.asset = asset_of(pipeline)
        super().__init__(inlets=[self.asset], **kwargs)
        self.pipeline = pipeline

    def execute(self, context: Context) -> dict[str, Any]:
        from spark_jobs.runs.plan import plan  # noqa: PLC0415 - loads the Kafka client, which parsing a DAG does not need
        from spark_jobs.runs.unbegun import recorded  # noqa: PLC0415 - loads delta-rs, likewise

        def last(error: Exception) -> bool:
            return last_try(context, error)

        with (
            one_line_errors(self.log),
            root_credentials(self.pipeline),
            recorded(self.pipeline, attempt(context), last),
        ):
            newest = announced(context, self.asset)
            settings = settings_of(self.pipeline)
            spec = live_spec(registry.load(self.pipeline), settings.root)
            planned = plan(spec, settings, newest)
        for line in planned.lines:
            self.log.info("%s", line)
        if planned.idle:
            # Not the repair: late records can wait also without a drain, if the repair behind the
            # last one was not started, since another was at work. Not what is behind the group.
            idle = {DRAIN, CHECK_OUTPUT, CHECK_STATE}
            idle |= {PUBLISH} if planned.to_publish is None else set()
            ids = {f"{group_of(context)}{name}" for name in idle}
            later = context["task"].get_flat_relatives(upstream=False)
            self.skip(context["ti"], [task for task in later if task.task_id in ids])
        return planned.model_dump(mode="json")


class DrainOperator(SubmitOperator):
    """Submits the drain to Spark."""

    def job(self, context: Context, report: Path, run_id: str) -> Run:  # noqa: ARG002 - as the others
        return Drain(pipeline=self.pipeline, report=str(report), run_id=run_id)

    def planned_records(self, context: Context) -> int:
        return planned_records(context)

    def lineage(self) -> Any:
        from sluice_airflow.lineage import datasets, tasks  # noqa: PLC0415 - loads OpenLineage's client, only where it is configured

        data = datasets.of(self.pipeline, self.brokers)
        return tasks.of_drain(data, self.report)
