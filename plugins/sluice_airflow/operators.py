"""The two tasks that work: plan, which asks without a JVM what there is to do, and drain, which submits it to Spark."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import BaseHook, BaseOperator, Context, SkipMixin
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from sluice_airflow.kafka import handed_over, task_settings
from sluice_airflow.retries import told_in_one_line
from sluice_airflow.root import declared_root
from sluice_airflow.xcom import hand_over, planned_records
from spark_jobs.contract import registry, spark_options
from spark_jobs.contract.errors import CheckBroken, CheckFailed, ConnectionMissing, SettingInvalid, SparkFailed
from spark_jobs.contract.paths import local_report_path
from spark_jobs.contract.report import Report, read_report
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.summary import summary
from spark_jobs.launch import submit
from spark_jobs.launch.processes import end_tree

CONNECTION = "sluice_spark"
GRACE_SECONDS = 3.0
"""Airflow gives a killed task 5 seconds in all."""
JUDGED = {CheckFailed.code, CheckBroken.code}
"""Problems of a drain that itself went well: the check tasks are the ones to fail."""


class PlanOperator(BaseOperator, SkipMixin):
    """Say what this run will do, and skip every later task where that is nothing."""

    inherits_from_skipmixin = True

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pipeline = pipeline

    def execute(self, context: Context) -> dict[str, Any]:
        from spark_jobs.runs.plan import plan  # noqa: PLC0415 - loads the Kafka client, which parsing a DAG need not

        with told_in_one_line(self.log), declared_root():
            planned = plan(registry.load(self.pipeline), task_settings())
        for line in planned.lines:
            self.log.info("%s", line)
        if planned.idle:
            self.skip(context["ti"], context["task"].get_flat_relatives(upstream=False))
        return planned.model_dump(mode="json")


class DrainOperator(SparkSubmitOperator):
    """Submit the drain and believe its report, not its exit status."""

    def __init__(self, *, pipeline: str, conn_id: str = CONNECTION, **kwargs: Any) -> None:
        # Client mode, whatever the connection says: the report is a file of this machine.
        super().__init__(conn_id=conn_id, name=f"sluice-{pipeline}", deploy_mode="client", **kwargs)
        self.pipeline = pipeline
        self._secrets: tuple[Path, ...] = ()

    def execute(self, context: Context) -> dict[str, Any]:  # type: ignore[override]  # the provider's returns nothing
        with told_in_one_line(self.log), declared_root() as keys:
            master, given = require_spark(self._conn_id)
            found = task_settings()
            found = found._replace(master=master, spark_conf=spark_options.merged(found.spark_conf, given))
            attempt = f"{context['run_id']}-try{context['ti'].try_number}"
            path = local_report_path(found.root, self.pipeline, attempt)
            path.unlink(missing_ok=True)
            with handed_over(found) as settings:
                declaration = Path(settings.kafka_config.path) if settings != found else None
                self._secrets = tuple(filter(None, (declaration, keys)))
                self._say_what_to_submit(settings, path, attempt, planned_records(context))
                self._submit(context)
            report = read_report(path)
            return hand_over(self._believe(report))

    def on_kill(self) -> None:
        """End spark-submit, the driver's Python under it, and that one's workers: the hook alone would kill the JVM only."""
        submitted = getattr(self._hook, "_submit_sp", None)
        if submitted is not None:
            end_tree(submitted.pid, GRACE_SECONDS)
        for secret in self._secrets:  # Airflow may leave no time for the blocks around it to end
            secret.unlink(missing_ok=True)

    def _say_what_to_submit(self, settings: Settings, report: Path, attempt: str, records: int) -> None:
        # Now and not at parse: these are the facts of the machine that runs the task.
        self.application = submit.application()
        self.application_args = submit.arguments("drain", self.pipeline, report, attempt)
        self.conf = submit.configuration(settings, records, pipeline=submit.options(self.pipeline))
        # The provider takes spark-submit by its name only; the one of this interpreter comes first.
        search = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
        self.env_vars = {**submit.environment(settings), "PATH": search}

    def _submit(self, context: Context) -> None:
        try:
            super().execute(context)
        except FileNotFoundError:
            raise SparkFailed("this worker has no spark-submit on its PATH.", "Install pyspark beside Airflow.") from None
        except AirflowException:
            status = getattr(getattr(self._hook, "_submit_sp", None), "returncode", None)
            self.log.warning("spark-submit ended with exit status %s; the report says why, or else the lines above", status)

    def _believe(self, report: Report) -> Report:
        if report.problem is not None and report.problem.code not in JUDGED:
            raise report.problem.error()
        for line in summary(report):
            self.log.info("%s", line)
        if report.problem is not None:
            self.log.warning("the rows are written; a check task will say why they are not published: %s", report.problem.code)
        return report


def require_spark(conn_id: str) -> tuple[str, spark_options.Options]:
    """The master that `conn_id` names, and the options of Spark in its extra, under "conf".

    Raises ConnectionMissing unless it is a connection to Spark: the provider would go to a YARN that nobody named. Raises
    SettingInvalid, naming the option, where one is not taken.
    """
    remedy = f"""Define it, for example AIRFLOW_CONN_{conn_id.upper()}='{{"conn_type": "spark", "host": "local[2]"}}'."""
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise ConnectionMissing(f"Airflow has no connection {conn_id!r}.", remedy) from None
    if connection.conn_type != "spark" or not connection.host:
        raise ConnectionMissing(
            f"connection {conn_id!r} has type {connection.conn_type!r} and host {connection.host!r}: it names no Spark master.",
            remedy,
        )
    # As the provider's hook reads it: a host that is no URL, and a port, are those of a standalone master.
    standalone = connection.port and "://" not in connection.host
    master = f"spark://{connection.host}" if standalone else connection.host
    master += f":{connection.port}" if connection.port else ""
    given = connection.extra_dejson.get("conf", {})
    if not isinstance(given, dict):
        raise SettingInvalid(f"connection {conn_id!r}: conf in its extra is {type(given).__name__}, and no object.",
                             'Write it as an object: {"conf": {"spark.executor.memory": "2g"}}.')
    source = f"connection {conn_id!r}: conf in its extra"
    return master, spark_options.checked({name: _text(value) for name, value in given.items()}, source)


def _text(value: object) -> str:
    """As Spark writes it: JSON has booleans and numbers."""
    return str(value).lower() if isinstance(value, bool) else str(value)
