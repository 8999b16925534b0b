"""The fixed facts of one run, passed to every package that works for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.messages.kind import Kind
from spark_jobs.settings.installation import Settings
from spark_jobs.source.port import Source
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.pin import Inputs
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Run(NamedTuple):
    """A run that holds the lease. Nothing in it changes while the run works."""

    kind: Kind
    spec: Pipeline
    settings: Settings
    paths: Paths
    target: Target
    identity: Identity
    run_id: str
    spark: SparkSession
    lease: Held
    inputs: Inputs
    """The versions of the tables beside the stream, which all of its batches read."""

    @property
    def source(self) -> Source:
        """Where its records come from."""
        return source_of(self.spec, self.settings)

    @property
    def checkpoint(self) -> Checkpoint:
        """The target's checkpoint, read as it is now."""
        return Checkpoint(self.target.checkpoint)
