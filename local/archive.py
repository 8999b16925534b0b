"""`python -m local.archive`: make the JVM's class-data archive, which takes a quarter off a small
drain's work.

The JVM writes it when it exits: all classes that it loaded, as they lay in memory. So one JVM
drains every pipeline, from a broker of its own, with records of every kind; the classes of Kafka,
RocksDB, Delta and the checks are all among them then.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from local import broker
from local.deliveries import Mess, deliver
from local.files_jar import tell_what_is_missing
from local.flights import flight_events
from local.nycflights import FIRST_DAY
from local.ports import NoFreePort
from local.publish import publish
from spark_jobs.errors import SluiceError
from spark_jobs.launch import java_options, submit
from spark_jobs.launch.scratch import scratch
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.files import replacing

EVENTS = 1_000
SECONDS = 600.0


def make(settings: Settings) -> Path:
    """Make the archive anew and return its place; the old one stays until then.

    It fits the class path that it is made with, jars in their order with their sizes and times, and
    no other: a JVM that finds another leaves the archive alone, in silence. Raises
    subprocess.CalledProcessError with the drains' output.
    """
    final = java_options.archive(settings)
    with replacing(final) as unfinished:
        _drained(settings, unfinished)
    return final


def _drained(settings: Settings, unfinished: Path) -> None:
    """Drain every pipeline in one JVM, which writes the archive at its end."""
    options = submit.configuration(settings, archived=False)
    options["spark.driver.extraJavaOptions"] += (
        f" -XX:ArchiveClassesAtExit={unfinished} -Xlog:cds=off -Xlog:cds+dynamic=off"
    )
    conf = [word for key, value in options.items() for word in ("--conf", f"{key}={value}")]
    command = [
        str(Path(sys.executable).parent / "spark-submit"),
        "--master",
        settings.master,
        *conf,
        __file__,
    ]
    with TemporaryDirectory(prefix="sluice-archive-") as home:
        try:
            brokers = broker.start(Path(home) / "kafka", settings.jars.parent / "kafka")
            ours = settings._replace(root=str(Path(home) / "root"), kafka=brokers)
            with scratch(os.environ) as made:
                subprocess.run(
                    command,
                    env={**os.environ, **submit.environment(ours), **made.variables},
                    cwd=home,
                    check=True,
                    timeout=SECONDS,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=made.locks,
                )
        finally:
            broker.stop(Path(home) / "kafka")
    if not unfinished.exists():
        raise OSError(f"the drains ended well, and the JVM wrote no {unfinished}")


def drain_everything() -> None:
    """What the JVM is to load classes by; runs under spark-submit."""
    from spark_jobs.messages import log  # noqa: PLC0415 - only here
    from spark_jobs.registry import find as registry  # noqa: PLC0415 - as above
    from spark_jobs.runs.drain import drain  # noqa: PLC0415 - needs pyspark

    log.setup()
    settings = Settings.from_environment()
    mess = Mess(late_share=0.01, malformed_share=0.01)
    records = deliver(islice(flight_events(FIRST_DAY, 1), EVENTS), mess)
    publish(settings.kafka, "flights", records, 1, Path(settings.root) / "ledger", partitions=4)
    for name in registry.names():
        report = drain(registry.load(name), settings, "archive")
        if report.problem and report.problem.code != "CHECK_FAILED":
            sys.exit(f"{name}: {report.problem}")


def main() -> None:
    """Make it, or say why it could not be made, and go on: drains work without it, and start more
    slowly.

    Where the installation itself is wrong, jars that are not there for one, it ends with status 1:
    no drain would work.
    """
    try:
        made = make(Settings.of_the_build())
    except SluiceError as error:
        sys.exit(f"no class-data archive: {error}")
    except (
        subprocess.SubprocessError,
        OSError,
        ValueError,
        broker.BrokerError,
        NoFreePort,
    ) as error:
        tell_what_is_missing("class-data archive", "start more slowly", error, "local.archive")
        return
    sys.stdout.write(f"{made}: {made.stat().st_size // 2**20} MB\n")


if __name__ == "__main__":
    drain_everything() if "PYSPARK_GATEWAY_PORT" in os.environ else main()
