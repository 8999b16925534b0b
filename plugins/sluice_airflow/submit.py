"""What tasks that submit a run to Spark have in common."""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook, BaseOperator, Context
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from sluice_airflow import metrics
from sluice_airflow.kafka import config_in_file, task_settings
from sluice_airflow.lineage.operator import TellsLineage
from sluice_airflow.retries import attempt, one_line_errors
from sluice_airflow.root import root_credentials
from sluice_airflow.xcom import to_xcom
from spark_jobs.contract import spark_options
from spark_jobs.contract.errors import ConnectionMissing, SettingInvalid, SparkFailed
from spark_jobs.contract.kind import Kind
from spark_jobs.contract.paths import local_report_path
from spark_jobs.contract.report import Report, read_report
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.summary import summary
from spark_jobs.contract.verdict import CHECK_CODES
from spark_jobs.launch import submit
from spark_jobs.launch.processes import end_tree

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

CONNECTION = "sluice_spark"
GRACE_SECONDS = 3.0
"""Airflow gives a killed task 5 seconds in total."""


class SubmitOperator(TellsLineage, BaseOperator):
    """Submits a run to Spark with spark-submit, in client mode, and returns its report as a dict.

    By the hook of Airflow's Spark provider. The provider's operator would load the OpenLineage
    client, and half a second with it, whenever a DAG is parsed.

    The report decides, not the exit status: it raises the report's problem, or ReportMissing
    without a report. A failed check does not fail this task but its check task.
    """

    kind: Kind = "drain"
    """Of the row in ops.runs of a run that was refused before it could write one."""
    run_of = ""
    """Tells its runs from those of another DAG of the pipeline; see retries.attempt."""
    judged = "the rows are written, but not published"
    """What is the case if only a check failed."""

    def __init__(self, *, pipeline: str, conn_id: str = CONNECTION, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline
        self._conn_id = conn_id
        self._hook: SparkSubmitHook | None = None
        self._secrets: tuple[Path, ...] = ()
        self.brokers = ""
        self.report: Report | None = None
        """Both of them for lineage, once `execute` knows them."""

    @abstractmethod
    def application_words(self, context: Context, report: Path, run_id: str) -> list[str]:
        """The arguments of the application."""

    @abstractmethod
    def planned_records(self, context: Context) -> int:
        """How many records it will read; 0 if unknown."""

    def execute(self, context: Context) -> dict[str, Any]:
        from spark_jobs.runs.run_record import recorded  # noqa: PLC0415 - loads delta-rs, which parsing a DAG does not need

        run_id = attempt(context, self.run_of)
        with (
            one_line_errors(self.log),
            root_credentials() as keys,
            recorded(self.pipeline, run_id, kind=self.kind),
        ):
            master, given = require_spark(self._conn_id)
            own = task_settings()
            self.brokers = own.kafka
            own = own._replace(
                master=master, spark_conf=spark_options.merged(own.spark_conf, given)
            )
            path = local_report_path(own.root, self.pipeline, run_id)
            path.unlink(missing_ok=True)
            with config_in_file(own) as settings:
                declaration = Path(settings.kafka_config.path) if settings != own else None
                self._secrets = tuple(filter(None, (declaration, keys)))
                words = self.application_words(context, path, run_id)
                self._hook = self._hook_for(settings, self.planned_records(context), words)
                self._submit(self._hook)
            report = self.report = read_report(path)
            metrics.of_run(report)
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

    def _hook_for(self, settings: Settings, records: int, words: list[str]) -> SparkSubmitHook:
        from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook  # noqa: PLC0415 - parsing a DAG submits nothing

        # The provider finds spark-submit by its name only, so this interpreter's folder comes first
        # on the PATH.
        search = os.pathsep.join(
            (str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath))
        )
        return SparkSubmitHook(
            conf=submit.configuration(
                settings, records, pipeline=submit.options(self.pipeline, settings.root)
            ),
            conn_id=self._conn_id,
            name=f"sluice-{self.pipeline}",
            # Also if the connection says otherwise: the report is a file of this machine.
            deploy_mode="client",
            application_args=words,
            env_vars={**submit.environment(settings), "PATH": search},
        )

    def _submit(self, hook: SparkSubmitHook) -> None:
        try:
            hook.submit(submit.application())
        except FileNotFoundError:
            raise SparkFailed(
                "this worker has no spark-submit on its PATH.",
                "Install pyspark in Airflow's environment.",
            ) from None
        except AirflowException:
            status = getattr(getattr(hook, "_submit_sp", None), "returncode", None)
            self.log.warning(
                "spark-submit ended with exit status %s; see the report's error, or the lines "
                "above",
                status,
            )
        finally:
            # The provider leaves the pipe of spark-submit's output open.
            output = getattr(getattr(hook, "_submit_sp", None), "stdout", None)
            if output is not None:
                output.close()

    def _checked_report(self, report: Report) -> Report:
        if report.problem is not None and report.problem.code not in CHECK_CODES:
            raise report.problem.error()
        for line in summary(report):
            self.log.info("%s", line)
        if report.problem is not None:
            self.log.warning(
                "%s; a check task names the check: %s", self.judged, report.problem.code
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
