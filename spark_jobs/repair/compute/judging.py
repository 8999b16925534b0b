"""Judging: the records of a plan (planned.py), classified by one clock; and what is computed of
them.
"""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from datetime import UTC, datetime
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.dataflow import dataflow
from spark_jobs.decode.jvm_choice import why_python
from spark_jobs.messages.kind import KINDS
from spark_jobs.rejected.rejected_record import BYTES
from spark_jobs.rejected.rejected_store import rejected_columns
from spark_jobs.repair.compute import kept
from spark_jobs.repair.compute.planned import (
    Fetched,
    Planned,
    at_places,
    planned,
    spread,
    values_of,
)
from spark_jobs.repair.find.quarantine import spared
from spark_jobs.source.place import PLACE
from spark_jobs.source.place_columns import columns
from spark_jobs.spec.analysis.lateness import unheld
from spark_jobs.steps.classify import QUARANTINED, has_outcome
from spark_jobs.table.arrow_rows import to_spark
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from spark_jobs.checkpoint.notes.excised import Refused
    from spark_jobs.dataflow import Dataflow
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


LOG = logging.getLogger(__name__)


class Seen(Protocol):
    """What is observed of a query, once it has run."""

    @property
    def get(self) -> Mapping[str, Any]:
        """By name."""


class NoRecord:
    """Of a computation that reads none."""

    @property
    def get(self) -> Counter[str]:
        return Counter()


class Computed(NamedTuple):
    """The rows of a unit, and what is observed while they are computed."""

    rows: DataFrame
    """With the columns of the output and of steps/canonical/aggregate.py. Of sessions all that the
    records give, else those of the plan's positions.
    """
    explaining: DataFrame | None
    """The groups or keys that the late records are in, or their rows where there are none: columns
    of the table's names. None where the output's rows do not have them.
    """
    fetched: Fetched
    read: Seen
    """outcome_counts of the records (steps/classify.py); rules as rule_counts has them, if a topic
    has rules.
    """
    entered: Seen
    """Records that reach the first stateful step: rows, and used (with a needed event time) bigint;
    late, and replayed ones, as late_places.
    """
    kept: Seen
    """Records behind the first step, if it is a Deduplicate: rows bigint, late as above."""
    copies: Seen | None
    """reused_keys and ambiguous_copies of that Deduplicate (steps/canonical/deduplicate.py)."""
    excised: int | None = 0
    """Excised records, at most, that the table's rows may have; None where nobody knows."""


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
    failing: Refused
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
        known = read_failing(paths.failing)
        spares = spared(paths, plan.generations, plan.quarantined, plan.replays, known)
        failing = known.in_repairs.sparing(spares)
        if not plan.late:  # of others nobody knows the offsets
            every = {
                p: plan.parts.get(p, ()) + plan.archived.get(p, ())
                for p in (*plan.parts, *plan.archived)
            }
            failing = failing.at({p: sorted(ranges) for p, ranges in every.items()})
        [topic, *more] = spec.inputs
        in_jvm = KINDS[plan.kind].swaps and not more and not why_python(topic, unheld(spec))
        clock_ms = int(datetime.now(UTC).timestamp() * 1000)
        return cls(spark, spec, settings, paths, plan, clock_ms, failing, in_jvm)

    def flow(
        self,
        fetched: Fetched,
        counts: Observation | None = None,
        only: DataFrame | None = None,
    ) -> Dataflow:
        """`fetched` and `counts` (outcome_counts) observe the records; `only` those at these places
        are taken.
        """
        if only is None:
            records = planned(self._planned, fetched)
        else:
            values = values_of(self._planned, named=False)
            records = at_places(spread(self._planned, values), only, "left_semi")
        return dataflow(
            records,
            self.spec,
            self.settings,
            self.plan.inputs,
            clock_ms=self.clock_ms,
            failing=self.failing,
            counts=counts,
            in_jvm=self.in_jvm,
        )

    @property
    def _planned(self) -> Planned:
        return Planned(self.spark, self.spec, self.settings, self.paths, self.plan)

    def table(self) -> DataFrame:
        """The table's rows, at the version with which they are compared."""
        return table_of(self.paths).read(self.spark, self.plan.table_version)

    def bad(self) -> DataFrame:
        """The malformed and premature records, with the columns of RejectedRecord: read again, and
        by Python, which alone says the reasons.
        """
        found = self._replace(in_jvm=False).flow(Fetched.unread())
        bad = found.classified.where(has_outcome(QUARANTINED))
        bad = bad.select(*rejected_columns(self.spec.inputs))
        if not self.spec.inputs.spread:
            return bad
        value = PLACE[:2]
        values = values_of(self._planned, named=True).select(
            "kafka", *(f"kafka.{name}" for name in value)
        )
        values = values.dropDuplicates([*value])
        whole: DataFrame = resolve_name(BYTES).with_values(bad, values, self.spec)
        return whole

    def excised(self) -> Dataflow:
        """Of the excised records alone, as if they were not; also those that ops.quarantine has."""
        known = self._replace(failing=self.failing.at({}), in_jvm=False)
        columns = [array("q") for _ in PLACE]  # of a million places no object each
        for place in self.failing.places():
            for column, number in zip(columns, place, strict=True):
                column.append(number)
        places = pa.table(columns, schema=kept.arrow_schema(PLACE))
        schema = from_arrow_schema(places.schema)
        return known.flow(Fetched.unread(), only=to_spark(self.spark, places, schema))

    def remove_kept(self) -> None:
        """If the store fails here, `sluice maintain` removes it later."""
        try:
            kept.remove(self.paths, self.plan)
        except OSError as error:
            left = kept.folder(self.paths, self.plan)
            LOG.warning("%s: %s stays for now: %s", self.plan.pipeline, left, error)


def late_places(records: DataFrame) -> Column:
    """The places of late and replayed records: array<struct<partition, offset, element>>."""
    place = F.struct(*columns(records))
    return F.collect_list(F.when(F.col("kafka.late"), place)).alias("late")
