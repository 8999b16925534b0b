"""Scratch: a pipeline in a folder of its own, which takes its records and all that a drain writes.

The spec is as it is, but for its topic, and the checks, which judge many records and not three.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql import functions as F

from spark_jobs.launch.session import session
from spark_jobs.messages.log import LOGGER
from spark_jobs.ops import ops_tables
from spark_jobs.proof.cases import Expected
from spark_jobs.proof.records import CaseTopic, topic_of
from spark_jobs.runs.drain import drain
from spark_jobs.spec.checks.check import StateMetrics
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of
from spark_jobs.values.own_columns import DELETED, is_own

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spark_jobs.messages.report import Problem
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

COUNTS: Final = tuple(name for name in Expected.model_fields if name not in {"rows", "fails"})
UNCHECKED: Final = {
    "close_after": None,
    "publish_at": None,
    "output_checks": (),
    "state_checks": (),
    "state_checks_off": tuple(StateMetrics.model_fields),
}


class Scratch(NamedTuple):
    """What is drained, and where."""

    spec: Pipeline
    topics: tuple[CaseTopic, ...]
    """By their numbers; empty at first: records.py writes into them."""
    settings: Settings

    @classmethod
    def of(cls, spec: Pipeline, settings: Settings, place: Path, partitions: int) -> Scratch:
        """In the folder `place`, which is there."""
        topics = tuple(
            topic_of(each, place / f"records-{number}", partitions)
            for number, each in enumerate(spec.inputs)
        )
        topic = spec.topic.with_members(topics)
        own = settings._replace(root=str(place / "root"), next="off", locks="one-host")
        changes: dict[str, Any] = {"topic": topic, **UNCHECKED}
        return cls(spec.model_copy(update=changes), topics, own)

    def over(self, root: Path) -> Scratch:
        """The same, with another root."""
        return self._replace(settings=self.settings._replace(root=str(root)))

    @property
    def paths(self) -> Paths:
        """Of its root."""
        return Paths(self.settings.root, self.spec)

    def drain(self, run_id: str) -> Problem | None:
        """The problem with which the run ended. Raises Stopped."""
        problem = drain(self.spec, self.settings, run_id).problem
        if problem and problem.code == "STOPPED":
            raise problem.error()
        return problem

    def counts(self) -> dict[str, int]:
        """Outcome -> records, over all batches."""
        sums = ", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in COUNTS)
        [found] = self.query("batches", f"SELECT {sums} FROM batches")
        return found

    def reasons(self, kind: str) -> list[str]:
        """Why each record of this kind was rejected."""
        by = 'partition, "offset", element'
        sql = f"SELECT reason FROM quarantine WHERE kind = '{kind}' ORDER BY {by}"
        return [row["reason"] for row in self.query("quarantine", sql)]

    def query(self, table: str, sql: str) -> list[dict[str, Any]]:
        """Rows of one of the ops tables."""
        found: list[dict[str, Any]] = ops_tables.query(self.paths.root, table, sql).to_pylist()
        return found

    def rows(self) -> DataFrame | None:
        """The table's, with the columns that consumers see; None where there is none."""
        if not (table := table_of(self.paths)).exists():
            return None
        spark = session(self.spec.name, self.spec.state, str(self.paths.root))
        rows = table.read(spark, table.version())
        if DELETED in rows.columns:
            rows = rows.where(~F.col(DELETED))
        return rows.select(*(name for name in rows.columns if not is_own(name)))


@contextmanager
def silent() -> Iterator[None]:
    """Nobody reads the lines of these runs."""
    logger = logging.getLogger(LOGGER)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
