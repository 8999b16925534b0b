"""Judging: the records of a plan, from Kafka, the archive and the ops tables, as the drain's source
has them; classified by one clock; and what is computed of them.
"""

from __future__ import annotations

import logging
from collections import Counter
from datetime import UTC, datetime
from functools import reduce
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation, SparkSession, functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.audit.rejected_record import BYTES
from spark_jobs.audit.second_read import rejected_columns
from spark_jobs.checkpoint.notes.failing import Reasons, read_failing
from spark_jobs.dataflow import Dataflow, as_records, dataflow
from spark_jobs.decode.jvm_choice import why_python
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.messages.kind import KINDS
from spark_jobs.repair.compute import kept
from spark_jobs.repair.find.quarantine import spared
from spark_jobs.repair.offsets.archived import archive_records
from spark_jobs.source.place import PLACE, WHOLE
from spark_jobs.source.place_columns import columns
from spark_jobs.source.sources import source_of
from spark_jobs.spec.analysis.lateness import unheld
from spark_jobs.steps.classify import QUARANTINED, has_outcome
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.table.arrow_rows import to_spark
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from upath import UPath

    from spark_jobs.repair.compute.kept import Values
    from spark_jobs.repair.find.plan import RepairPlan
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


LOG = logging.getLogger(__name__)


class Fetched(NamedTuple):
    """How many records each source gave, records bigint, once they are read."""

    kafka: Observation
    """From Kafka and from the archive: values."""
    records: Observation
    """The records of these."""
    late: Observation
    quarantine: Observation
    used: Observation
    """Those of the source without those that ops.late and ops.quarantine keep aside."""
    late_used: Observation
    """The late ones likewise."""

    @classmethod
    def unread(cls) -> Fetched:
        return cls(*(Observation() for _ in cls._fields))


class Seen(Protocol):
    """What is observed of a query, once it has run."""

    @property
    def get(self) -> Mapping[str, Any]:
        """By name."""


class NoRecord(NamedTuple):
    """Of a computation that reads none."""

    get: Counter[str]


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
    excised: int = 0
    """Excised records, at most, that the table's rows may have."""


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
            records = _records(self, fetched)
        else:
            records = _at(_spread(self, _all(self, named=False)), only, "left_semi")
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
        values = _all(self, named=True).select("kafka", *(f"kafka.{name}" for name in value))
        values = values.dropDuplicates([*value])
        whole: DataFrame = resolve_name(BYTES).with_values(bad, values, self.spec)
        return whole

    def excised(self) -> Dataflow:
        """Of the excised records alone, as if they were not; also those that ops.quarantine has."""
        known = self._replace(failing=self.failing.by_name, in_jvm=False)
        rows = [dict(zip(PLACE, each, strict=True)) for each in self.failing.places()]
        places = pa.Table.from_pylist(rows, schema=kept.arrow_schema(PLACE))
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


def _records(judging: Judging, fetched: Fetched) -> DataFrame:
    """Each record once; of those in quarantine, the ones that the plan names. The caller removes
    the files that it writes when the records are read.

    Column: kafka struct, as source/port.py has it, and in it late boolean: a drain did not
    accept the record, and its bytes are from ops.late or ops.quarantine.
    """
    spark, paths, plan = judging.spark, judging.paths, judging.plan
    found, has = [], kept.write(paths, plan)
    if reads := _reads(judging):
        all_read = _counted(reduce(DataFrame.unionAll, reads), fetched.kafka)
        places, aside = (_places(spark, path) for path in (has.places, has.aside))
        own = _counted(_spread(judging, _of_source(all_read)), fetched.records)
        used = _counted(_not_at(own, aside), fetched.used)
        found.append(_not_at(used, places))
    if has.late is not None:
        late = _counted(_meant(judging, has.late), fetched.late)
        bad, named = (_places(spark, path) for path in (has.bad, has.named))
        found.append(_not_at(_counted(_not_at(late, bad), fetched.late_used), named))
    if has.quarantine is not None:
        found.append(_counted(_meant(judging, has.quarantine), fetched.quarantine))
    return reduce(DataFrame.unionAll, found)


def _reads(judging: Judging) -> list[DataFrame]:
    spark, spec, settings, paths, plan, *_ = judging
    archive = archive_records(paths.root, spec.inputs, plan.topic_id)
    reads_source = plan.parts or plan.current  # of which none may be left
    reads = [source_of(spec, settings).read(spark, plan.parts)] if reads_source else []
    return [*reads, archive.read(spark, plan.archived)] if plan.archived else reads


def _all(judging: Judging, *, named: bool) -> DataFrame:
    """Every value at the plan's offsets, and of late records that it needs; with `named` also of
    quarantined ones that it names.
    """
    has = kept.write(judging.paths, judging.plan)
    tables = (has.late, has.quarantine if named else None)
    found = [_of_source(each) for each in _reads(judging)]
    found += [_valued(judging.spark, each.values) for each in tables if each]
    return reduce(DataFrame.unionAll, found)


def _meant(judging: Judging, has: Values) -> DataFrame:
    """The records of a table."""
    records = _spread(judging, _valued(judging.spark, has.values))
    return _at(records, _places(judging.spark, has.elements), "left_semi")


def _spread(judging: Judging, values: DataFrame) -> DataFrame:
    spec, settings = judging.spec, judging.settings
    return as_records(values, spec.inputs, prepare(spec.inputs[0], settings.root, settings))


def _valued(spark: SparkSession, path: UPath) -> DataFrame:
    return _file(spark, path, kept.VALUE).select(_record())


def _counted(rows: DataFrame, seen: Observation) -> DataFrame:
    return rows.observe(seen, F.count(F.lit(1)).alias("records"))


def _record() -> Column:
    return F.struct(
        *PLACE[:2],
        F.col("kafka_timestamp").alias("timestamp"),
        F.col("kafka_millis").alias("millis"),
        F.struct("key", "value", "headers").alias("raw"),
        F.lit(True).alias("late"),
    ).alias("kafka")


def _file(spark: SparkSession, path: UPath, columns: Iterable[str]) -> DataFrame:
    schema = from_arrow_schema(kept.arrow_schema(columns))
    if (rows := kept.few(path)) is not None:
        return to_spark(spark, rows, schema)
    # A root may have brackets in its name, which are no pattern.
    reader = spark.read.schema(schema).option("__globPaths__", "false")
    return reader.parquet(spark_url(path))


def _of_source(rows: DataFrame) -> DataFrame:
    return rows.select(F.col("kafka").withField("late", F.lit(False)).alias("kafka"))


def _places(spark: SparkSession, path: UPath | None) -> DataFrame | None:
    return None if path is None else _file(spark, path, PLACE)


def _not_at(rows: DataFrame, places: DataFrame | None) -> DataFrame:
    return _at(rows, places, "left_anti")


def _at(rows: DataFrame, places: DataFrame | None, how: str) -> DataFrame:
    """Of a whole value all records."""
    if places is None:
        return rows
    # As columns of their own: where `places` is one row of literals, Spark's NestedColumnAliasing
    # loses a struct's field out of an existence join's condition.
    names = [f"own_{name}" for name in PLACE]
    named = rows.select("*", *map(Column.alias, columns(rows), names))
    own, at = ([each[name] for name in of] for each, of in ((named, names), (places, PLACE)))
    same = (own[0] == at[0]) & (own[1] == at[1]) & ((at[2] == WHOLE) | (own[2] == at[2]))
    return named.join(F.broadcast(places), same, how).drop(*names)
