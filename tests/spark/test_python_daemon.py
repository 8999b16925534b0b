"""Python workers begin with their imports made, and look through none of them for garbage."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from spark_jobs.contract.settings import Settings
from spark_jobs.launch import python_daemon, submit

FREE = "spark.python.daemon.module"


def test_a_worker_is_forked_with_what_every_drain_imports(spark: Any) -> None:
    wanted = python_daemon.IMPORTED

    def look(_: Iterator[int]) -> Iterator[tuple[list[str], int]]:
        yield [name for name in wanted if name not in sys.modules], gc.get_freeze_count()

    [(missing, frozen)] = spark.sparkContext.parallelize([0], 1).mapPartitions(look).collect()
    assert missing == []
    assert frozen > 10_000


@pytest.mark.parametrize(("master", "ours"), [("local[2]", True), ("spark://one:7077", False)])
def test_only_a_local_master_has_that_daemon_and_an_installation_may_have_sparks(
    spark: Any, master: str, ours: bool
) -> None:
    at = Settings.from_environment()._replace(master=master)
    assert submit.configuration(at).get(FREE) == (python_daemon.__name__ if ours else None)
    own = at._replace(spark_conf=f"{FREE}=pyspark.daemon")
    assert submit.configuration(own)[FREE] == "pyspark.daemon"
