"""The tasks plan and drain.

Plan looks, without a JVM, for new work; drain submits the work to Spark.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook, BaseOperator, Context, SkipMixin
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from sluice_airflow.kafka import config_in_file, task_settings
from sluice_airflow.publish import announced, asset_of
from sluice_airflow.retries import attempt, last_try, one_line_errors
from sluice_airflow.root import root_credentials
from sluice_airflow.xcom import PUBLISH, planned_records, to_xcom
from spark_jobs.contract import registry, spark_options
from spark_jobs.contract.errors import (
    CheckBroken,
    CheckFailed,
    ConnectionMissing,
    SettingInvalid,
    SparkFailed,
)
from spark_jobs.contract.paths import local_report_path
from spark_jobs.contract.report import Report, read_report
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.summary import summary
from spark_jobs.launch import submit
from spark_jobs.launch.processes import end_tree

CONNECTION = "sluice_spark"
GRACE_SECONDS = 3.0
"""Airflow gives a killed task 5 seconds in total."""
CHECK_CODES = {CheckFailed.code, CheckBroken.code}
"""Problems of a drain that wrote its rows. For these the check tasks fail, not the drain."""


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
        from spark_jobs.runs.run_record import recorded  # noqa: PLC0415 - loads delta-rs, likewise

        def last(error: Exception) -> bool:
            return last_try(context, error)

        with (
            one_line_errors(self.log),
            root_credentials(),
            recorded(self.pipeline, attempt(context), last),
        ):
            newest = announced(context, self.asset)
            planned = plan(registry.load(self.pipeline), task_settings(), newest)
        for line in planned.lines:
            self.log.info("%s", line)
        if planned.idle:
            later = context["task"].get_flat_relatives(upstream=False)
            to_publish = planned.to_publish is not None
            self.skip(
                context["ti"],
                [task for task in later if not (to_publish and task.task_id == PUBLISH)],
            )
        return planned.model_dump(mode="json")


class DrainOperator(SparkSubmitOperator):
    """Submits the drain to Spark with spark-submit, in client mode, and returns its report as a
    dict.

    The report decides, not the exit status: it raises the report's problem, or ReportMissing
    without a report. A failed check does not fail this task but its check task.
    """

    def __init__(self, *, pipeline: str, conn_id: str = CONNECTION, **kwargs: Any) -> None:
        # Client mode, also if the connection says otherwise: the report is a file of this machine.
        super().__init__(conn_id=conn_id, name=f"sluice-{pipeline}", deploy_mode="client", **kwargs)
        self.pipeline = pipeline
        self._secrets: tuple[Path, ...] = ()

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]  # the provider's returns nothing
        from spark_jobs.runs.run_record import recorded  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

        run_id = attempt(context)
        with (
            one_line_errors(self.log),
            root_credentials() as keys,
            recorded(self.pipeline, run_id),
        ):
            master, given = require_spark(self._conn_id)
            own = task_settings()
            own = own._replace(
                master=master, spark_conf=spark_options.merged(own.spark_conf, given)
            )
            path = local_report_path(own.root, self.pipeline, run_id)
            path.unlink(missing_ok=True)
            with config_in_file(own) as settings:
                declaration = Path(settings.kafka_config.path) if settings != own else None
                self._secrets = tuple(filter(None, (declaration, keys)))
                self._set_submit_arguments(settings, path, run_id, planned_records(context))
                self._submit(context)
            report = read_report(path)
            return to_xcom(self._checked_report(report))

    def on_kill(self) -> None:
        """Ends spark-submit, its driver in Python and the driver's workers.

        The provider's hook would end only the JVM.
        """
        submitted = getattr(self._hook, "_submit_sp", None)
        if submitted is not None:
            end_tree(submitted.pid, GRACE_SECONDS)
        for (
            secret
        ) in self._secrets:  # Airflow may kill the task before the blocks that remove it end
            secret.unlink(missing_ok=True)

    def _set_submit_arguments(
        self, settings: Settings, report: Path, run_id: str, records: int
    ) -> None:
        # Set here and not when the DAG is parsed: they depend on the machine that runs the task.
        self.application = submit.application()
        self.application_args = submit.arguments("drain", self.pipeline, report, run_id)
        self.conf = submit.configuration(settings, records, pipeline=submit.options(self.pipeline))
        # The provider finds spark-submit by its name only, so this interpreter's folder comes first
        # on the PATH.
        search = os.pathsep.join(
            (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
        )
        self.env_vars = {**submit.environment(settings), "PATH": search}

    def _submit(self, context: Context) -> None:
        try:
            super().execute(context)
        except FileNotFoundError:
            raise SparkFailed(
                "this worker has no spark-submit on its PATH.",
                "Install pyspark in Airflow's environment.",
            ) from None
        except AirflowException:
            status = getattr(getattr(self._hook, "_submit_sp", None), "returncode", None)
            self.log.warning(
                "spark-submit ended with exit status %s; see the report's error, or the lines "
                "above",
                status,
            )

    def _checked_report(self, report: Report) -> Report:
        if report.problem is not None and report.problem.code not in CHECK_CODES:
            raise report.problem.error()
        for line in summary(report):
            self.log.info("%s", line)
        if report.problem is not None:
            self.log.warning(
                "the rows are written, but not published; a check task names the check: %s",
                report.problem.code,
            )
        return report


def require_spark(conn_id: str) -> tuple[str, spark_options.Options]:
    """The master of the connection `conn_id`, and the Spark options in its extra, under "conf".

    Raises ConnectionMissing unless it is a Spark connection: the provider would submit to YARN by
    default. Raises SettingInvalid, which names the option, for an option that Sluice refuses.
    """
    example = '{"conn_type": "spark", "host": "local[2]"}'
    remedy = f"Define it, for example AIRFLOW_CONN_{conn_id.upper()}='{example}'."
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise ConnectionMissing(f"Airflow has no connection {conn_id!r}.", remedy) from None
    if connection.conn_type != "spark" or not connection.host:
        raise ConnectionMissing(
            f"connection {conn_id!r} has type {connection.conn_type!r} and host "
            f"{connection.host!r}: the type must "
            "be 'spark', and the host Spark's master.",
            remedy,
        )
    # As the provider's hook does: a host that is not a URL, together with a port, means a
    # standalone master.
    standalone = connection.port and "://" not in connection.host
    master = f"spark://{connection.host}" if standalone else connection.host
    master += f":{connection.port}" if connection.port else ""
    given = connection.extra_dejson.get("conf", {})
    if not isinstance(given, dict):
        raise SettingInvalid(
            f"connection {conn_id!r}: conf in its extra is {type(given).__name__}, not an object.",
            'Write it as an object: {"conf": {"spark.executor.memory": "2g"}}.',
        )
    source = f"connection {conn_id!r}: conf in its extra"
    return master, spark_options.checked(
        {name: _text(value) for name, value in given.items()}, source
    )


def _text(value: object) -> str:
    """The value as Spark writes it: JSON also has booleans and numbers."""
    return str(value).lower() if isinstance(value, bool) else str(value)
