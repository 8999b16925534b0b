"""Submit: the command, options and environment with which the CLI and Airflow's operator start a
run. Imports no pyspark.
"""

from __future__ import annotations

import os
from pathlib import Path

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.errors import JarsMissing
from spark_jobs.launch import spark_side as shipment
from spark_jobs.launch.java_options import (
    ARCHIVE,
    C2_MIN_RECORDS,
    FIRST_COMPILER,
    archived_options,
    java_options,
)
from spark_jobs.launch.scratch import has_sockets
from spark_jobs.launch.spark_side import spark_side
from spark_jobs.messages.job import Drain, Printing, Repartition, Run, Serve, Stage
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.environment import require_spark
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import spark_options
from spark_jobs.spec.spark_options import Options
from spark_jobs.storage.root.path_forms import refuse_for_cluster
from spark_jobs.storage.root.store import Store, is_s3
from spark_jobs.values import pinned as language

FILES_JAR = "sluice-files.jar"
"""The compiled classes of spark_jobs/java."""
FILES = {
    "spark.hadoop.fs.file.impl": "sluice.files.ChecksummedFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "sluice.files.ChecksummedFs",
}
"""Hadoop's own classes start a process for each chmod and readlink.

That is 17 % of a small batch's processor time.
"""
SCHEDULED = {
    # A task takes any free executor. With the default, partitions of Kafka's reader wait 3 s for a
    # busy one.
    "spark.locality.wait": "0s",
    # The first executor starts to work. By default YARN and Kubernetes wait for most of the
    # executors, or for 30 s.
    "spark.scheduler.minRegisteredResourcesRatio": "0.0",
}
"""Scheduling on a cluster. An installation or a spec may set other values."""
UNREAD = {
    # Spark would remember, for each expression, which line of Python made it: a walk up the stack
    # and six calls to the JVM. Only Spark's own text of an error has it (SLUICE_TRACEBACK): whoever
    # wants the line of their logic.py there sets it.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Of a thousand queries Spark's pages would show the plan: a worker of many drains had 80 MB of
    # them after 70. And of 100,000 tasks the metrics; those of stages an audit reads.
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedTasks": "5000",
}
"""What Spark would keep for messages and pages that nobody reads. An installation or a spec may
set it.
"""
ALONE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Spark makes a secret for each application, and keeps it in its JVM's memory.
    "spark.authenticate": "true",
    # Of a cluster's executors nobody sees what a worker prints.
    "spark.python.daemon.module": "spark_jobs.launch.quiet_python_daemon",
}
"""Of a local master: nobody but its own processes has anything to ask of it."""
SOCKETS = {"spark.python.unix.domain.socket.enabled": "true"}
"""Python workers reach the JVM in a folder that its user alone may enter, not at ports: at the one
for a processor's state Spark asks for no secret.
"""
INSPECTION_MASTER = "local[2]"
"""The master of commands that only read: they need no cluster."""
DAEMON = "spark_jobs.launch.warm.inside.python_daemon"
"""The process from which a worker for warm drains, and an application of several drains, forks
Python workers.
"""
LOG_STORE = {"spark.delta.logStore.s3a.impl": "sluice.store.ConditionalLogStore"}
"""The class that writes Delta's log on S3.

Delta's own class overwrites what another writer committed in the meantime.
"""


def application(spark_env: str = "") -> str:
    """The path of the application in the environment that SLUICE_SPARK_ENV names, for spark-submit.
    Raises SettingInvalid.
    """
    return str(spark_side(spark_env).application)


def files_jar(settings: Settings) -> Path:
    """The path of the jar of spark_jobs/java, which `make setup` compiles.

    Without it runs use Hadoop's own classes.
    """
    return settings.jars / FILES_JAR


def s3_jars(settings: Settings) -> Path:
    """The folder of the jars that only a root on S3 needs."""
    return settings.jars.parent / "s3"


def configuration(
    settings: Settings, records: int = 0, *, archived: bool = True, pipeline: Options | None = None
) -> Options:
    """Spark's settings that must be made before the JVM starts; others are in session.py.

    Raises JarsMissing or SettingInvalid.

    `records` is the number of records to read, 0 if unknown: it decides how the JVM compiles.
    Without `archived` the JVM does not use the class-data archive: it cannot write one while it
    uses one. `pipeline` has the spec's options of Spark. They override the options of the
    installation and of Airflow's connection, which are in the settings, and those override
    SCHEDULED and UNREAD.
    """
    require_spark(settings.spark_env)  # before jars, which a folder that is wrong has not either
    jars = sorted(settings.jars.glob("*.jar"))
    if not any(jar.name.startswith("delta-spark") for jar in jars):
        raise JarsMissing.kafka_jars_absent(jars=settings.jars)
    if not settings.local:
        refuse_for_cluster(settings.root)
    s3 = sorted(s3_jars(settings).glob("*.jar")) if is_s3(settings.root) else []
    if is_s3(settings.root) and not (s3 and files_jar(settings).exists()):
        raise JarsMissing.s3_jars_absent(jars=s3_jars(settings), files_jar=files_jar(settings))
    given = {**spark_options.parse(settings.spark_conf, "SLUICE_SPARK_CONF"), **(pipeline or {})}
    return {
        **({} if settings.local else SCHEDULED),
        **UNREAD,
        **given,
        "spark.driver.extraClassPath": ":".join(map(str, jars)),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join(
            java_options(settings, records, archived=archived)
        ),
        **_executors(settings, jars, s3, records),
        **(ALONE if settings.local else {}),
        **(SOCKETS if settings.local and has_sockets() else {}),
        # Hadoop's default begins with /tmp, wherever the JVM's temporary folder is.
        "spark.hadoop.hadoop.tmp.dir": "${java.io.tmpdir}/hadoop-${user.name}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(object_store() if s3 else {}),
        **(FILES if settings.local_files == "sluice" and files_jar(settings).exists() else {}),
    }


def _executors(settings: Settings, jars: list[Path], s3: list[Path], records: int) -> Options:
    kafka = settings.kafka_config.java_options()
    if settings.local:
        # On the class path, not in spark.jars: every executor of every run copies and fetches those
        # again.
        return {
            "spark.executor.extraClassPath": ":".join(map(str, [*jars, *s3])),
            **({"spark.executor.extraJavaOptions": " ".join(kafka)} if kafka else {}),
        }
    remote_jars = settings.executor_jars
    options = [
        *language.java_options(),
        "-XX:+UseParallelGC",
        "-XX:-UsePerfData",
        "-Dio.netty.jfr.enabled=false",
        *kafka,
    ]
    options += FIRST_COMPILER if records < C2_MIN_RECORDS else ()
    options += archived_options(Path(remote_jars) / ARCHIVE) if remote_jars else []
    return {
        **(
            {"spark.executor.extraClassPath": ":".join(f"{remote_jars}/{jar.name}" for jar in jars)}
            if remote_jars
            else {"spark.jars": ",".join(map(str, [*jars, *s3]))}
        ),
        # Last on the class path, as for the driver: the part before it must stay the one that the
        # class-data archive is for.
        **(
            {"spark.executorEnv.SPARK_DIST_CLASSPATH": f"{Path(remote_jars).parent / 's3'}/*"}
            if remote_jars and s3
            else {}
        ),
        "spark.executor.extraJavaOptions": " ".join(options),
        # Named too: otherwise the driver would use the executors' Python.
        "spark.pyspark.driver.python": str(spark_side(settings.spark_env).python),
        **shipment.configuration(settings),
    }


def object_store() -> dict[str, str]:
    """What Spark must be told of the S3 that the root lies on.

    No key is among it: see docs/deploy.md.
    """
    return {
        **LOG_STORE,
        **{
            f"spark.hadoop.{name}": value
            for name, value in Store.from_environment().s3a_options().items()
        },
    }


def environment(settings: Settings) -> dict[str, str]:
    """Environment variables of spark-submit and the processes that it starts."""
    # Last on the driver's class path: the part before it must stay the one that the class-data
    # archive is for.
    s3 = [f"{s3_jars(settings)}/*"] if is_s3(settings.root) else []
    side = spark_side(settings.spark_env)
    return {
        **settings.environment(),
        **({"SPARK_HOME": str(side.home)} if side.home else {}),
        **(
            {
                "SPARK_DIST_CLASSPATH": os.pathsep.join(
                    filter(None, [os.environ.get("SPARK_DIST_CLASSPATH"), *s3])
                )
            }
            if s3
            else {}
        ),
        "PYSPARK_PYTHON": str(side.python),
        "PYSPARK_DRIVER_PYTHON": str(side.python),
        "PYTHONPATH": os.pathsep.join(
            filter(None, [side.search, os.environ.get("PYTHONPATH", "")])
        ),
        # Else main.py's folder stands first on its path, and a pipeline's own module `storage` or
        # `log` would be Sluice's.
        "PYTHONSAFEPATH": "1",
        "PYTHONUNBUFFERED": "1",
        "RUST_BACKTRACE": "1"
        if os.environ.get("SLUICE_TRACEBACK")
        else "0",  # delta-rs prints what a full disk does to it
        **language.VARIABLES,
    }


def command(settings: Settings, job: Run | Printing, records: int = 0) -> list[str]:
    """The spark-submit command of the job. `records` is how many it reads, 0 if unknown."""
    if not isinstance(job, Drain | Stage | Repartition) and not settings.local:
        settings = settings._replace(master=INSPECTION_MASTER)
    return submit_command(settings, job.pipeline, job.words(), records)


def options(pipeline: str, settings: Settings) -> Options:
    """The Spark options of the spec that the run is to have."""
    spec = registry.load(pipeline)
    if registry.load_next(pipeline) is None:
        # There is no choice, and who submits a run need not reach the root.
        return spec.spark
    return live_spec(spec, settings.root, about=settings.next == "on").spark


def serve_command(settings: Settings, pipeline: str, socket: Path) -> list[str]:
    """The spark-submit command of a worker for warm runs, with the options of Spark that a run of
    this pipeline has. Its last word alone tells two workers apart.
    """
    words = Serve(socket=str(socket)).words()
    return submit_command(settings, pipeline, words, 0, {"spark.python.daemon.module": DAEMON})


def submit_command(
    settings: Settings, pipeline: str, words: list[str], records: int, more: Options | None = None
) -> list[str]:
    """The spark-submit command with these arguments of the application, and `more` of Spark's
    options.
    """
    conf = [
        word
        for key, value in {
            **configuration(settings, records, pipeline=options(pipeline, settings)),
            **(more or {}),
        }.items()
        for word in ("--conf", f"{key}={value}")
    ]
    side = spark_side(settings.spark_env)
    return [str(side.submit), "--master", settings.master, *conf, str(side.application), *words]
