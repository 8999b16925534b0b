"""How a run is submitted: one place for the command line and for Airflow's operator. Imports no pyspark."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from spark_jobs.contract.errors import JarsMissing
from spark_jobs.contract.settings import REPO, Settings

HERE = Path(__file__).parent


def application() -> str:
    """The file that spark-submit is given."""
    return str(HERE / "main.py")


def arguments(pipeline: str, report: Path, run_id: str) -> list[str]:
    """What follows the file."""
    return ["drain", pipeline, "--report", str(report), "--run-id", run_id]


def configuration(settings: Settings) -> dict[str, str]:
    """What must be settled before the JVM starts; everything else is in session.py. Raises JarsMissing."""
    jars = sorted(settings.jars.glob("*.jar"))
    if not any(jar.name.startswith("delta-spark") for jar in jars):
        raise JarsMissing(f"{settings.jars} does not hold the jars of Delta and Kafka for Spark.",
                          "Run `make setup`, or point SLUICE_JARS at them.")
    return {
        # On the class path, not in spark.jars: those are copied and fetched again by every executor of every run.
        "spark.driver.extraClassPath": ":".join(map(str, jars)),
        "spark.executor.extraClassPath": ":".join(map(str, jars)),
        "spark.driver.memory": settings.driver_memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{HERE / 'conf' / 'log4j2.properties'}"
        " -Duser.timezone=UTC -XX:+UseParallelGC -XX:-UsePerfData",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def environment(settings: Settings) -> dict[str, str]:
    """Variables of the process that spark-submit starts."""
    return {
        **settings.environment(),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(REPO), os.environ.get("PYTHONPATH", "")])),
        "PYTHONUNBUFFERED": "1",
        "TZ": "UTC",
    }


def command(settings: Settings, pipeline: str, report: Path, run_id: str) -> list[str]:
    """The whole command, for a process of its own."""
    conf = [word for key, value in configuration(settings).items() for word in ("--conf", f"{key}={value}")]
    submit = str(Path(sys.executable).parent / "spark-submit")
    return [submit, "--master", settings.master, *conf, application(), *arguments(pipeline, report, run_id)]
