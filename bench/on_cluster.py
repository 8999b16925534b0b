"""What a cluster costs and gives: a standalone one on this machine, so that its JVMs share the
cores with the driver's.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import psutil

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
    most = list[float]()
    cold = list[tuple[float, float]]()
    with cluster.running(home / "spark", bound=shutil.which("taskset") is not None) as spark:
        for number in range(1, repetitions + 1):
            two = _arm(home / f"two-{number}", topic, settings, spark.master)
            one = _arm(
                home / f"one-{number}", topic, settings._replace(spark_conf=ONE), spark.master
            )
            before = _worked(spark)
            done = drain(two, f"cluster-{number}", records)
            tasks, driver = _worked(spark) - before, done.process.cpu_seconds
            most.append(2 * tasks / (tasks + driver))
            alone = drain(one, f"cluster-{number}", records)
            both.append((done.query_seconds, alone.query_seconds))
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
        Measure(
            "the same: the most that two cores give, which have the driver's work too",
            "one executor",
            most,
            [],
            most,
            "at least",
            None,
        ),
        Measure.fraction(
            f"{size:,} records, seconds of the process, on a cluster",
            "local[2]",
            1.6,
            [there for there, _ in cold],
            [here for _, here in cold],
        ),
    ]


def _worked(spark: cluster.Cluster) -> float:
    """Processor seconds of the executors that have ended, for which their workers have waited.

    One executor has a core for its tasks, and the driver the other. Of two, each shares its core
    with half of the driver's work: so they are at most 2 * tasks / (tasks + driver) as fast.
    """
    cluster.wait_until(lambda: not spark.executors(), "the end of the executors")
    times = [psutil.Process(worker.pid).cpu_times() for worker in spark.workers]
    return sum(each.children_user + each.children_system for each in times)


def _arm(home: Path, topic: Topic, settings: Settings, master: str) -> Sluice:
    there = settings._replace(master=master, executor_jars=str(settings.jars))
    executors = "one executor" if settings.spark_conf else "two executors"
    return Sluice(home, topic.brokers, there, f"Sluice with {executors}", LOOPBACK)
