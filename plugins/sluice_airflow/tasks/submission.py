"""Submission: an application of Sluice that a task gives to Spark by spark-submit, in client mode;
or to the worker of this machine, if SLUICE_WARM says so.

By the hook of Airflow's Spark provider. The provider's operator would load the OpenLineage client,
and half a second with it, whenever a DAG is parsed.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from sluice_airflow.connections.kafka import config_in_file, settings_of
from spark_jobs.errors import ConnectionMissing, SettingInvalid, SparkFailed
from spark_jobs.launch import submit
from spark_jobs.launch.processes import end_tree
from spark_jobs.launch.scratch import scratch
from spark_jobs.launch.spark_side import spark_side
from spark_jobs.messages.job import Run
from spark_jobs.messages.report import Report, read_report
from spark_jobs.messages.withheld import for_tasks
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import spark_options
from spark_jobs.storage.root.paths import local_report_path

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    from spark_jobs.launch.warm.client import Warm

LOG = logging.getLogger(__name__)
GRACE_SECONDS = 3.0
"""Airflow gives a killed task 5 seconds in total."""
SAID_SECONDS = 5.0
"""How long the last lines of a warm run may take to be logged."""


class Submission:
    """The applications that one task submits, one after the other."""

    def __init__(self, pipeline: str, conn_id: str) -> None:
        self.pipeline = pipeline
        self.conn_id = conn_id
        self.hook: SparkSubmitHook | None = None
        """Of the newest one."""
        self._secrets: tuple[Path, ...] = ()
        self._warm: Warm | None = None
        """The run that a worker has begun."""
        self._killed = False
        """Whether Airflow has ended the task since its run began."""

    def settings(self) -> Settings:
        """The task's settings, with master and options of the connection to Spark.

        Raises ConnectionMissing, SettingInvalid or KafkaConfigInvalid.
        """
        master, given = require_spark(self.conn_id)
        own = settings_of(self.pipeline)
        return own._replace(master=master, spark_conf=spark_options.merged(own.spark_conf, given))

    def run(
        self,
        own: Settings,
        keys: Path | None,
        run_id: str,
        job_at: Callable[[Path], Run],
        records: int,
    ) -> Report:
        """The report of the job, which `job_at` gives by the report's path.

        `keys`: the file with the root's keys, if there is one. `records`: how many it will read; 0
        if unknown. Raises ReportMissing, or SparkFailed without a spark-submit.
        """
        self._killed = False
        path = local_report_path(own.root, self.pipeline, run_id)
        path.unlink(missing_ok=True)
        with config_in_file(own) as settings:
            declaration = Path(settings.kafka_config.path) if settings != own else None
            self._secrets = tuple(filter(None, (declaration, keys)))
            job = job_at(path)
            if not self._run_warm(settings, records, job) and not self._killed:
                with scratch(os.environ) as made:
                    self.hook = self._hook_for(settings, records, job, made.variables)
                    self._submit(self.hook, submit.application(settings.spark_env), made.locks)
        return for_tasks(read_report(path))

    def kill(self) -> None:
        """Ends spark-submit, its driver in Python and the driver's workers; of a warm run the
        worker, and so the run.

        The provider's hook would end only the JVM.
        """
        self._killed = True
        run = self._warm
        if run is not None and not run.ended and run.process is not None:
            end_tree(run.process.pid, GRACE_SECONDS)
        submitted = getattr(self.hook, "_submit_sp", None)
        if submitted is not None:
            end_tree(submitted.pid, GRACE_SECONDS)
        for (
            secret
        ) in self._secrets:  # Airflow may kill the task before the blocks that remove it end
            secret.unlink(missing_ok=True)

    def _hook_for(
        self, settings: Settings, records: int, job: Run, scratch: Mapping[str, str]
    ) -> SparkSubmitHook:
        from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook  # noqa: PLC0415 - parsing a DAG submits nothing

        return SparkSubmitHook(
            conf=submit.configuration(
                settings, records, pipeline=submit.options(self.pipeline, settings)
            ),
            conn_id=self.conn_id,
            name=f"sluice-{self.pipeline}",
            # Also if the connection says otherwise: the report is a file of this machine.
            deploy_mode="client",
            application_args=job.words(),
            env_vars={**_variables(settings), **scratch},
        )

    def _run_warm(self, settings: Settings, records: int, job: Run) -> bool:
        """To its end. Logs what the worker writes, as the hook does."""
        if settings.warm == "off":
            return False
        from spark_jobs.launch.warm.client import begun  # noqa: PLC0415 - parsing a DAG starts no run

        variables = {**os.environ, **_variables(settings)}
        read, write = os.pipe()
        # Whoever holds the pipe beyond the run must not hold the task: the worker tells its end.
        said = threading.Thread(target=_log_lines, args=(read,), name="said", daemon=True)
        said.start()
        try:
            run = begun(settings, self.pipeline, job.words(), variables, records, (write, write))
        finally:
            os.close(write)
        if run is None:
            return False
        self._warm = run
        if self._killed:  # while the worker began it: whoever killed the task did not find it
            self.kill()
        while not run.over():
            pass
        self._warm = None
        said.join(SAID_SECONDS)
        return True

    def _submit(self, hook: SparkSubmitHook, application: str, locks: Sequence[int]) -> None:
        try:
            hook.submit(application, pass_fds=locks)
        except FileNotFoundError:
            raise SparkFailed.no_spark_submit() from None
        except AirflowException:
            status = getattr(getattr(hook, "_submit_sp", None), "returncode", None)
            LOG.warning(
                "spark-submit ended with exit status %s; see the report's error, or the lines "
                "above",
                status,
            )
        except BaseException:  # Airflow's timeout: Spark would be at work in a folder that goes
            self.kill()
            raise
        finally:
            # The provider leaves the pipe of spark-submit's output open.
            output = getattr(getattr(hook, "_submit_sp", None), "stdout", None)
            if output is not None:
                output.close()


def _log_lines(read: int) -> None:
    with os.fdopen(read, encoding="utf-8", errors="replace") as said:
        for line in said:
            LOG.info("%s", line.strip())


def _variables(settings: Settings) -> dict[str, str]:
    """Of the environment of spark-submit, what this process has not."""
    # The provider finds spark-submit by its name only, so its folder comes first on the PATH.
    submit_at = spark_side(settings.spark_env).submit
    search = os.pathsep.join((str(submit_at.parent), os.environ.get("PATH", os.defpath)))
    return {**submit.environment(settings), "PATH": search}


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
        raise ConnectionMissing.connection_absent(conn_id=conn_id, remedy=remedy) from None
    if connection.conn_type != "spark" or not connection.host:
        raise ConnectionMissing.no_master(
            conn_id=conn_id,
            kind=connection.conn_type,
            host=connection.host,
            remedy=remedy,
        )
    # As the provider's hook does: a host that is not a URL, together with a port, means a
    # standalone master.
    standalone = connection.port and "://" not in connection.host
    master = f"spark://{connection.host}" if standalone else connection.host
    master += f":{connection.port}" if connection.port else ""
    given = connection.extra_dejson.get("conf", {})
    if not isinstance(given, dict):
        raise SettingInvalid.conf_no_object(conn_id=conn_id, kind=type(given).__name__)
    source = f"connection {conn_id!r}: conf in its extra"
    return master, spark_options.checked(
        {name: _text(value) for name, value in given.items()}, source
    )


def _text(value: object) -> str:
    """JSON also has booleans and numbers."""
    return str(value).lower() if isinstance(value, bool) else str(value)
