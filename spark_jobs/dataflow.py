"""Dataflow: all that happens to a record between Kafka and the sink, in order.

Creates no table and writes no file.

source -> decode -> classify -> steps before state -> stateful steps -> (the caller writes the rows
to the sink)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, NamedTuple

from pyspark.sql import Column, DataFrame, Observation, functions as F

from spark_jobs.decode.decoder import decode
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.decode.record_decoder import Prepared, prepare
from spark_jobs.decode.slice_notes import SliceNotes
from spark_jobs.settings.installation import Settings
from spark_jobs.side.port import rows_of
from spark_jobs.source.place import Place
from spark_jobs.spec import Pipeline, Topic
from spark_jobs.spec.analysis.lateness import unheld
from spark_jobs.spec.inputs import COLUMN, Topics
from spark_jobs.steps import chain
from spark_jobs.steps.beside.matched import without_counted
from spark_jobs.steps.by_rules import has_rules, judged, keeps_some, rule_counts
from spark_jobs.steps.capture import observe_classified, observe_stateful_input
from spark_jobs.steps.chain import refuse_unheld, rejected
from spark_jobs.steps.classify import all_good, archive_rows, classify, good_records, outcome_counts
from spark_jobs.storage.pin import Inputs
from spark_jobs.values.conversions import spark_type
from spark_jobs.values.own_columns import KAFKA, MALFORMED

ELEMENTS: Final = "spark_jobs.decode.by_element"
"""Loaded by name: a value of most topics is one record."""

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.steps.timers import Timers


class Way(NamedTuple):
    """What becomes of some of the records. In a stream each topic has one, since each moves the
    watermark by itself; a batch query has one for all.
    """

    classified: DataFrame
    stateful_input: DataFrame
    by_decoder: DataFrame


class Dataflow(NamedTuple):
    """The DataFrames that callers use. Spark runs nothing until one is written or collected."""

    spec: Pipeline
    ways: tuple[Way, ...]
    sides: Mapping[str, DataFrame]
    """The rows of each table beside the stream, by its name."""

    @property
    def classified(self) -> DataFrame:
        """Every record.

        Columns: the topic's fields, kafka, MALFORMED string, and OUTCOME string, one of
        outcome.CLASSIFIED (values/own_columns.py).
        """
        return _union(way.classified for way in self.ways)

    @property
    def stateful_input(self) -> DataFrame:
        """The good records after the Transforms before the first stateful step, with the column
        kafka.
        """
        return _union(way.stateful_input for way in self.ways)

    @property
    def by_decoder(self) -> DataFrame:
        """As `classified`, by no expression of the spec that can fail: among these, records are
        looked for that one fails on. Those that a GroupState cannot hold, and those that a rule
        refuses, are good.
        """
        return _union(way.by_decoder for way in self.ways)

    def entering(self, condition: Column) -> Dataflow:
        """The same, where only these rows of the stateful input enter."""
        some = (
            way._replace(stateful_input=way.stateful_input.where(condition)) for way in self.ways
        )
        return self._replace(ways=tuple(some))

    def output(self, root: UPath, timers: Timers, topic_id: str = "") -> DataFrame:
        """The rows for the sink: the stateful input after the first stateful step and all later
        steps; for an archive, the records, with the topic's id.
        """
        if self.spec.is_archive:
            return archive_rows(self.stateful_input, self.spec.inputs.event_time, topic_id)
        inputs = [way.stateful_input for way in self.ways]
        return chain.stateful_output(inputs, self.spec, self.sides, root, timers)


def dataflow(  # noqa: PLR0913 - all on which a record's way depends
    records: DataFrame | Sequence[DataFrame],
    spec: Pipeline,
    settings: Settings,
    inputs: Inputs,
    capture: CapturePolicy | None = None,
    clock_ms: int | None = None,
    failing: Mapping[Place, str] | None = None,
    notes: SliceNotes | None = None,
    *,
    observed: bool = True,
    counts: Observation | None = None,
    in_jvm: bool = False,
    refusing: bool = True,
) -> Dataflow:
    """The dataflow of `records`: column kafka struct<partition, offset, timestamp, millis,
    raw>, as source/port.py reads them; of a stream, for each topic.

    `inputs` are the versions of the tables beside the stream. Each place has them from a note: of
    the batch (checkpoint/notes/noted_versions.py), or of the plan of a repair.

    `capture` limits which records keep their raw bytes; without it, and for an archive, all do.
    With `capture` and `observed`, the query also observes counts and rejected records, for the
    audit.

    `clock_ms` is when the records' batch was planned, in milliseconds since the epoch. Only a batch
    query needs it: in a streaming query the current time is that already, also when the batch runs
    again (MicroBatchExecution).

    `failing` has the records on which an expression fails (checkpoint/notes/failing.py): they are
    malformed, so no step sees them. `notes` gets the slices of the records.

    `counts` observes outcome_counts, and rule_counts, in a batch query. `in_jvm` as decode has it,
    `refusing` as classify.
    """
    clock = F.current_timestamp() if clock_ms is None else F.timestamp_millis(F.lit(clock_ms))
    limits = unheld(spec)
    each_way: Sequence[Topics] = [Topics([topic]) for topic in spec.inputs]
    given = records
    if isinstance(given, DataFrame):
        each_way, given = [spec.inputs], [given]
    sides = rows_of(given[0].sparkSession, spec, settings, inputs)
    # An archive keeps every raw byte, and of the fields only the one that it has a column for.
    wanted, kept = ([spec.inputs.event_time], None) if spec.is_archive else (None, capture)

    def classified_of(topics: Topics, given: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Classified, and by the decoder alone."""
        prepared = [prepare(each, settings.root, settings, wanted) for each in topics]
        policy = kept.of_all(bounded=not observed) if kept and keeps_some(topics, spec) else kept
        own = [limit for limit in limits if limit.field in topics.columns]
        given, headers = as_records(given, topics, prepared[0]), spec.reads_headers
        decoded = decode(
            given, prepared, policy, failing, notes, own, headers=headers, in_jvm=in_jvm
        )
        if (spec.inputs.named and not topics.several) or topics.spread:
            decoded = _as_one_of(spec.inputs, topics[0], decoded)
        if spec.is_archive:
            return (all_good(decoded),) * 2
        ruled = judged(decoded, topics)
        by_decoder = classify(ruled, topics, clock, refusing=False)
        held = refuse_unheld(ruled, topics, own)
        held = rejected(held, spec, topics, sides)
        return classify(held, topics, clock, refusing=refusing), by_decoder

    def way(number: int, topics: Topics, given: DataFrame) -> Way:
        classified, by_decoder = classified_of(topics, given)
        if capture and observed:
            classified = observe_classified(classified, spec, capture, number)
        if counts:
            ruled = [rule_counts(topics, spec.inputs.rules)] if has_rules(topics) else []
            classified = classified.observe(counts, *outcome_counts(), *ruled)
        stateful_input = chain.stateful_input(good_records(classified, spec.inputs), spec, sides)
        if capture and observed:
            stateful_input = observe_stateful_input(stateful_input, spec, capture, number)
        return Way(classified, without_counted(stateful_input, spec), by_decoder)

    ways = (way(number, *each) for number, each in enumerate(zip(each_way, given, strict=True)))
    return Dataflow(spec, tuple(ways), sides)


def as_records(
    given: DataFrame, topics: Topics, prepared: Prepared, *, headers: bool = False
) -> DataFrame:
    """What Kafka gave; of values with many records, these: with `headers`, or those that say
    something.
    """
    if not topics.spread:
        return given
    keeps, of = headers or topics.reads_headers, prepared.given[0]
    found: DataFrame = resolve_name(ELEMENTS).spread(given, topics[0], of, headers=keeps)
    return found


def _as_one_of(all_: Topics, topic: Topic, decoded: DataFrame) -> DataFrame:
    """Its fields in the order of all, null where it has none, and the column with its name."""
    if topic.each:
        found: DataFrame = resolve_name(ELEMENTS).settled(decoded)
        return found
    lacking = {
        name: F.lit(None).cast(spark_type(kind))
        for name, kind in all_.types.items()
        if name not in topic.columns
    }
    named = decoded.withColumns(lacking | {COLUMN: F.lit(topic.name)})
    return named.select(*all_.columns, KAFKA, MALFORMED)


def _union(frames: Iterable[DataFrame]) -> DataFrame:
    return reduce(DataFrame.unionAll, frames)
