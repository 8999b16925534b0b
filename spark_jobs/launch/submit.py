"""How a run is submitted: one place for the command line and for Airflow's operator. Imports no pyspark."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.contract import registry, spark_options
from spark_jobs.contract.errors import JarsMissing
from spark_jobs.contract.report import Kind
from spark_jobs.contract.settings import REPO, Settings
from spark_jobs.contract.spark_options import Options
from spark_jobs.contract.store import Store, is_s3
from spark_jobs.launch import shipment

if TYPE_CHECKING:
    from upath import UPath

PACKAGE = Path(__file__).parents[1]
C2_MIN_RECORDS = 3_000_000
"""Records from which on the JVM's optimizing compiler earns what it costs."""
ARCHIVE = "classes.jsa"
FILES_JAR = "sluice-files.jar"
"""spark_jobs/java, compiled."""
FILES = {
    "spark.hadoop.fs.file.impl": "sluice.files.ChecksummedFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "sluice.files.ChecksummedFs",
}
"""Hadoop's own classes start a process for each chmod and readlink: 17 % of a small batch's processor time."""
SCHEDULED = {
    # A task takes the executor that is free. Kafka's reader would have its partitions wait 3 s for one that is busy.
    "spark.locality.wait": "0s",
    # The first executor begins; on YARN and Kubernetes nothing would until most of them are there, or 30 s have passed.
    "spark.scheduler.minRegisteredResourcesRatio": "0.0",
}
"""How a cluster is used, unless an installation or a spec says otherwise."""
INSPECTION_MASTER = "local[2]"
"""The master of commands that look and do not run: they need no cluster."""


LOG_STORE = {"spark.delta.logStore.s3a.impl": "sluice.store.ConditionalLogStore"}
"""Who writes the entries of Delta's log there: its own overwrites what another writer has committed meanwhile."""


def application() -> str:
    """The file that spark-submit is given."""
    return str(PACKAGE / "main.py")


def arguments(kind: Kind, pipeline: str, report: Path | UPath, run_id: str) -> list[str]:
    """What follows the file, for a run of this kind."""
    return [kind, pipeline, "--report", str(report), "--run-id", run_id]


def archive(settings: Settings) -> Path:
    """Where the JVM's class-data archive lies, which `make setup` makes; runs do without it where it is not."""
    return settings.jars / ARCHIVE


def files_jar(settings: Settings) -> Path:
    """Where the classes of spark_jobs/java lie, which `make setup` compiles; runs use Hadoop's own where it is not."""
    return settings.jars / FILES_JAR


def s3_jars(settings: Settings) -> Path:
    """Where the jars lie that only a root on S3 needs."""
    return settings.jars.parent / "s3"


def configuration(settings: Settings, records: int = 0, *, archived: bool = True, pipeline: Options | None = None) -> Options:
    """What must be settled before the JVM starts; everything else is in session.py. Raises JarsMissing or SettingInvalid.

    `records` is how many are to be read, where that is known: it decides how the JVM compiles. Without `archived` the JVM
    leaves the class-data archive alone: it cannot write one while it uses one. `pipeline` is the spec's options of Spark: they
    go before the installation's and Airflow's connection's, which are in the settings, and those before Sluice's own of use.
    """
    jars = sorted(settings.jars.glob("*.jar"))
    if not any(jar.name.startswith("delta-spark") for jar in jars):
        raise JarsMissing(f"{settings.jars} does not hold the jars of Delta and Kafka for Spark.",
                          "Run `make setup`, or point SLUICE_JARS at them.")
    s3 = sorted(s3_jars(settings).glob("*.jar")) if is_s3(settings.root) else []
    if is_s3(settings.root) and not (s3 and files_jar(settings).exists()):
        raise JarsMissing(f"{s3_jars(settings)} and {files_jar(settings)} do not hold what a root on S3 needs.",
                          "Run `make setup`, or point SLUICE_JARS at a folder that has both, and `s3` beside it.")
    given = {**spark_options.read(settings.spark_conf, "SLUICE_SPARK_CONF"), **(pipeline or {})}
    return {
        **({} if settings.local else SCHEDULED),
        **given,
        "spark.driver.extraClassPath": ":".join(map(str, jars)),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": " ".join(_java_options(settings, records, archived=archived)),
        **_executors(settings, jars, s3, records),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **(object_store() if s3 else {}),
        **(FILES if settings.local_files == "sluice" and files_jar(settings).exists() else {}),
    }


def _executors(settings: Settings, jars: list[Path], s3: list[Path], records: int) -> Options:
    """What executors start with."""
    kafka = settings.kafka_config.java_options()
    if settings.local:
        # On the class path, not in spark.jars: those are copied and fetched again by every executor of every run.
        return {
            "spark.executor.extraClassPath": ":".join(map(str, [*jars, *s3])),
            **({"spark.executor.extraJavaOptions": " ".join(kafka)} if kafka else {}),
        }
    there = settings.executor_jars
    options = ["-Duser.timezone=UTC", "-XX:+UseParallelGC", "-XX:-UsePerfData", "-Dio.netty.jfr.enabled=false", *kafka]
    options += ["-XX:TieredStopAtLevel=1"] if records < C2_MIN_RECORDS else []
    options += _archived(Path(there) / ARCHIVE) if there else []
    return {
        **({"spark.executor.extraClassPath": ":".join(f"{there}/{jar.name}" for jar in jars)} if there
           else {"spark.jars": ",".join(map(str, [*jars, *s3]))}),
        # Behind all others, as for the driver: what is before them stays as the class-data archive was made for.
        **({"spark.executorEnv.SPARK_DIST_CLASSPATH": f"{Path(there).parent / 's3'}/*"} if there and s3 else {}),
        "spark.executor.extraJavaOptions": " ".join(options),
        # The driver's is named too: the executors' would take its place.
        "spark.pyspark.driver.python": sys.executable,
        **shipment.configuration(settings),
    }


def object_store() -> dict[str, str]:
    """What Spark must be told of the S3 that the root lies on. No key is among it: see docs/object-store.md."""
    return {**LOG_STORE, **{f"spark.hadoop.{name}": value for name, value in Store.from_environment().spark().items()}}


def _java_options(settings: Settings, records: int, *, archived: bool) -> list[str]:
    """Seconds are a drain's processor seconds on two busy cores, one run or two each; docs/architecture.md has them all."""
    options = [
        f"-Dlog4j2.configurationFile=file:{PACKAGE / 'conf' / 'log4j2.properties'}",
        f"-Dsluice.log={'error' if os.environ.get('SLUICE_TRACEBACK') else 'off'}",
        "-Duser.timezone=UTC",
        "-XX:+UseParallelGC",
        "-XX:-UsePerfData",
        "-XX:+ExitOnOutOfMemoryError",  # or the thread that runs the query dies alone, and the driver waits for it for ever
        "-Dio.netty.jfr.enabled=false",  # netty starts the JVM's flight recorder otherwise, to log its buffers to nobody
    ]
    options += settings.kafka_config.java_options()
    if records < C2_MIN_RECORDS:
        # The first compiler only: 42 seconds instead of 57 to 64 for 144,000 records, 65 instead of 85 for a million.
        options.append("-XX:TieredStopAtLevel=1")
    if archived and archive(settings).exists():
        # Classes as they lie in memory, instead of read from jars and verified: 32 seconds instead of 43 for 144,000 records.
        options += _archived(archive(settings))
    return options


def _archived(path: Path) -> list[str]:
    """One that is not there, or does not fit the JVM or the jars, is left alone, in silence."""
    return [f"-XX:SharedArchiveFile={path}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def environment(settings: Settings) -> dict[str, str]:
    """Variables of the process that spark-submit starts."""
    # Behind all others on the driver's class path: what is before them stays as the class-data archive was made for.
    behind = [f"{s3_jars(settings)}/*"] if is_s3(settings.root) else []
    return {
        **settings.environment(),
        **({"SPARK_DIST_CLASSPATH": os.pathsep.join(filter(None, [os.environ.get("SPARK_DIST_CLASSPATH"), *behind]))}
           if behind else {}),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(REPO), os.environ.get("PYTHONPATH", "")])),
        "PYTHONUNBUFFERED": "1",
        "RUST_BACKTRACE": "1" if os.environ.get("SLUICE_TRACEBACK") else "0",  # delta-rs tells what a full disk does to it
        "TZ": "UTC",
    }


def command(
    settings: Settings, pipeline: str, report: Path | UPath, run_id: str, records: int = 0, kind: Kind = "drain"
) -> list[str]:
    """The whole command of a run, for a process of its own."""
    return _submitted(settings, pipeline, arguments(kind, pipeline, report, run_id), records)


def explain_command(settings: Settings, pipeline: str) -> list[str]:
    """The whole command that prints a pipeline's plan."""
    return _submitted(_for_inspection(settings), pipeline, ["explain", pipeline], 0)


def state_command(settings: Settings, pipeline: str, options: list[str]) -> list[str]:
    """The whole command that prints what a pipeline's steps remember."""
    return _submitted(_for_inspection(settings), pipeline, ["state", pipeline, *options], 0)


def options(pipeline: str) -> Options:
    """The options of Spark that the pipeline's spec has."""
    return registry.load(pipeline).spark


def _for_inspection(settings: Settings) -> Settings:
    return settings if settings.local else settings._replace(master=INSPECTION_MASTER)


def _submitted(settings: Settings, pipeline: str, words: list[str], records: int) -> list[str]:
    conf = [word for key, value in configuration(settings, records, pipeline=options(pipeline)).items()
            for word in ("--conf", f"{key}={value}")]
    submit = str(Path(sys.executable).parent / "spark-submit")
    return [submit, "--master", settings.master, *conf, application(), *words]
