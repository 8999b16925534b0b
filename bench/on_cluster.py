"""What a cluster costs and gives: a standalone one on this machine, so that its JVMs share the
cores with the driver's.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from bench.arms import Arm, Drained, Sluice
from bench.results import Measure
from bench.topic import Topic
from local import cluster
from spark_jobs.settings.installation import Settings

ONE = "spark.cores.max=1"
LOOPBACK = {"SPARK_LOCAL_IP": "127.0.0.1"}

Drain = Callable[[Arm, str, int], Drained]
"""Drains with an arm, under a label, so many records; the table is held against DuckDB."""


def measures(
    home: Path, topic: Topic, settings: Settings, drain: Drain, repetitions: int
) -> list[Measure]:
    """The whole topic by two executors and by one, each bound to a core; then small deliveries
    there and in local mode.
    """
    records = topic.sent
    both = list[tuple[float, float]]()
    cold = list[tuple[float, float]]()
    with cluster.running(home / "spark", bound=shutil.which("taskset") is not None) as spark:
        for number in range(1, repetitions + 1):
            two = _arm(home / f"two-{number}", topic, settings, spark.master)
            one = _arm(
                home / f"one-{number}", topic, settings._replace(spark_conf=ONE), spark.master
            )
            pair = [drain(arm, f"cluster-{number}", records).query_seconds for arm in (two, one)]
            both.append((pair[0], pair[1]))
        for _ in range(2):
            spark.lose_worker()
        for _ in range(2):  # bound to nothing, as local mode is not
            spark.add_worker()
        local = Sluice(home / "local", topic.brokers, settings, "Sluice in local mode")
        drain(local, "load", records)
        for number in range(1, repetitions + 1):
            size = topic.publish_next()
            pair = [drain(arm, f"cold-{number}", size).process.seconds for arm in (two, local)]
            cold.append((pair[0], pair[1]))
    return [
        Measure.less(
            f"{records:,} records, seconds of the query, two executors, each on a core",
            "one executor",
            1.6,
            [two for two, _ in both],
            [one for _, one in both],
        ),
        Measure.fraction(
            f"{size:,} records, seconds of the process, on a cluster",
            "local[2]",
            1.6,
            [there for there, _ in cold],
            [here for _, here in cold],
        ),
    ]


def _arm(home: Path, topic: Topic, settings: Settings, master: str) -> Sluice:
    there = settings._replace(master=master, executor_jars=str(settings.jars))
    executors = "one executor" if settings.spark_conf else "two executors"
    return Sluice(home, topic.brokers, there, f"Sluice with {executors}", LOOPBACK)
