"""Forgetting: how many deletes a table remembers. Those of a table that delta-rs does not write are
forgotten behind a run, by Spark. In other tables `sluice maintain` forgets them, without Spark.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.table.history import FORGOT
from spark_jobs.table.tables import own_table, size_at
from spark_jobs.values.own_columns import DELETED, DELETED_AT
from spark_jobs.values.spans import microseconds

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql import SparkSession
    from upath import UPath

    from spark_jobs.checkpoint.run import Run
    from spark_jobs.spec.steps.following import Following

LOG = logging.getLogger(__name__)


def forget_deletes(run: Run, step: Following) -> None:
    """A failure is logged: the run has ended well in all else, and the next one forgets them."""
    if not (after := step.forgets_after):
        return
    try:
        run.lease.confirm()
        if forget(run.spark, run.target.table.path, after, datetime.now(UTC)):
            LOG.info("%s: forgot deletes older than forget_deletes_after", run.spec.name)
    except Exception as error:  # noqa: BLE001 - whatever Spark or Delta says
        LOG.warning("%s: could not forget deletes: %s", run.spec.name, error)


def forget(spark: SparkSession, path: UPath, after: timedelta, now: datetime) -> bool:
    """Forget what maintain would, in one commit a day at most. Whether there was one."""
    table = own_table(path)
    if not table.exists() or not (opened := table.open()).untried():
        return False
    found = opened.size()
    if found is not None and not found.remembered:
        return False
    before = (now - after).replace(hour=0, minute=0, second=0, microsecond=0)
    where = f"`{DELETED}` AND `{DELETED_AT}` < timestamp_micros({microseconds(before)})"
    return table.remove_by_spark(spark, where, {FORGOT: where})


def remembered_share(path: UPath, version: int) -> float | None:
    """Deletes that are remembered, for each row that is none; None if the log does not tell."""
    found = size_at(path, version)
    return None if found is None else found.remembered / max(found.live, 1)
