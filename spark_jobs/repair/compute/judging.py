"""Judging: the records of a plan, classified by one clock, and what is computed of them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as F

from spark_jobs.analysis.unheld import unheld
from spark_jobs.audit.second_read import rejected_columns
from spark_jobs.checkpoint.notes.failing import Reasons, read_failing
from spark_jobs.classify.classifier import has_outcome
from spark_jobs.classify.outcome import QUARANTINED
from spark_jobs.dataflow import Dataflow, dataflow
from spark_jobs.decode.jvm.choice import why_python
from spark_jobs.messages.kind import KINDS
from spark_jobs.repair.compute import kept
from spark_jobs.repair.compute.records import Fetched, records
from spark_jobs.root.path_forms import spark_url

if TYPE_CHECKING:
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.root.paths import Paths
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline

LOG = logging.getLogger(__name__)


class Computed(NamedTuple):
    """The rows of a unit, and what is observed while they are computed."""

    rows: DataFrame
    """With the columns of the output and of steps/canonical/rounding.py. Of sessions all that the
    records give, else those of the plan's positions.
    """
    explaining: DataFrame | None
    """The groups or keys that the late records are in, or their rows where there are none: columns
    of the table's names. None where the output's rows do not have them.
    """
    fetched: Fetched
    read: Observation
    """outcome_counts of the records (classify/classifier.py)."""
    entered: Observation
    """Records that reach the first stateful step: rows, and used (with a needed event time) bigint;
    late, and replayed ones, array<struct<partition, offset>>.
    """
    kept: Observation
    """Records behind the first step, if it is a Deduplicate: rows bigint, late as above."""
    copies: Observation | None
    """reused_keys and ambiguous_copies of that Deduplicate (steps/canonical/deduplicate.py)."""


class Compared(NamedTuple):
    """The table's rows against those that were computed."""

    paired: DataFrame
    """See change.explained."""
    carried: DataFrame | None
    """Rows of the table that lie among them, and stay; see session_rows.Replaced."""


class Judging(NamedTuple):
    """The records, by a clock. Every computation of them judges them alike."""

    spark: SparkSession
    spec: Pipeline
    settings: Settings
    paths: Paths
    plan: RepairPlan
    clock_ms: int
    """By which they are premature, in milliseconds since the epoch."""
    failing: Reasons
    """The records on which drains saw an expression fail, or that a person has put aside, without
    those that a replay brings: their expression has been corrected.
    """
    in_jvm: bool
    """Whether the JVM may decode. Where nothing is swapped, Python does: it is the witness of what
    drains have decoded.
    """

    @classmethod
    def now(
        cls, spark: SparkSession, spec: Pipeline, settings: Settings, paths: Paths, plan: RepairPlan
    ) -> Judging:
        failing = {
            (partition, offset): why
            for (partition, offset), why in read_failing(paths.failing).in_repairs.items()
            if offset not in plan.quarantined.get(partition, ())
        }
        [topic, *more] = spec.topic.each
        in_jvm = KINDS[plan.kind].swaps and not more and not why_python(topic, unheld(spec))
        clock_ms = int(datetime.now(UTC).timestamp() * 1000)
        return cls(spark, spec, settings, paths, plan, clock_ms, failing, in_jvm)

    def flow(self, fetched: Fetched, counts: Observation | None = None) -> Dataflow:
        spark, spec, settings, paths, plan, clock_ms, failing, in_jvm = self
        given = records(spark, spec, settings, paths, plan, fetched)
        return dataflow(
            given,
            spec,
            settings,
            plan.inputs,
            clock_ms=clock_ms,
            failing=failing,
            counts=counts,
            in_jvm=in_jvm,
        )

    def table(self) -> DataFrame:
        """The table's rows, at the version with which they are compared."""
        stored = self.spark.read.format("delta").option("versionAsOf", self.plan.table_version)
        return stored.load(spark_url(self.paths.table))

    def bad(self) -> DataFrame:
        """The malformed and premature records, with the columns of RejectedRecord: read again, and
        by Python, which alone says the reasons.
        """
        found = self._replace(in_jvm=False).flow(Fetched.unread())
        bad = found.classified.where(has_outcome(QUARANTINED))
        return bad.select(*rejected_columns(self.spec.topic))

    def remove_kept(self) -> None:
        """If the store fails here, `sluice maintain` removes it later."""
        try:
            kept.remove(self.paths, self.plan)
        except OSError as error:
            left = kept.folder(self.paths, self.plan)
            LOG.warning("%s: %s stays for now: %s", self.plan.pipeline, left, error)


def late_places() -> Column:
    """The places of late and replayed records: array<struct<partition, offset>>."""
    place = F.struct("kafka.partition", "kafka.offset")
    return F.collect_list(F.when(F.col("kafka.late"), place)).alias("late")
