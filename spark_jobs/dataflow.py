"""Dataflow: all that happens to a record between Kafka and the sink, in order.

Creates no table and writes no file.

source -> decode -> classify -> steps before state -> stateful steps -> (the caller writes the rows
to the sink)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import DataFrame, Observation, functions as F

from spark_jobs.analysis.unheld import unheld
from spark_jobs.classify.archived import all_good, archive_rows
from spark_jobs.classify.capture import observe_classified, observe_stateful_input
from spark_jobs.classify.classifier import classify, good_records, outcome_counts
from spark_jobs.classify.unheld import refuse_unheld
from spark_jobs.decode.decoder import decode
from spark_jobs.decode.prepared import prepare
from spark_jobs.decode.raw_filter import CapturePolicy
from spark_jobs.decode.slice_notes import SliceNotes
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.steps import chain

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.steps.timers import Timers


class Dataflow(NamedTuple):
    """The DataFrames that callers use. Spark runs nothing until one is written or collected."""

    spec: Pipeline
    classified: DataFrame
    """Every record.

    Columns: the topic's fields, kafka, MALFORMED string, and OUTCOME string, one of
    outcome.CLASSIFIED (values/own_columns.py).
    """
    stateful_input: DataFrame
    """The good records after the Transforms before the first stateful step, with the column kafka.
    """
    by_decoder: DataFrame
    """As `classified`, by no expression of the spec: among these, records are looked for that one
    fails on. Those that a GroupState cannot hold are good.
    """

    def output(self, root: UPath, timers: Timers, topic_id: str = "") -> DataFrame:
        """The rows for the sink: the stateful input after the first stateful step and all later
        steps; for an archive, the records, with the topic's id.
        """
        if self.spec.is_archive:
            return archive_rows(self.stateful_input, self.spec.topic.event_time, topic_id)
        return chain.stateful_output(self.stateful_input, self.spec, root, timers)


def dataflow(  # noqa: PLR0913 - all on which a record's way depends
    records: DataFrame,
    spec: Pipeline,
    settings: Settings,
    capture: CapturePolicy | None = None,
    clock_ms: int | None = None,
    failing: Mapping[tuple[int, int], str] | None = None,
    notes: SliceNotes | None = None,
    *,
    observed: bool = True,
    counts: Observation | None = None,
) -> Dataflow:
    """The dataflow of `records`: column kafka struct<partition, offset, timestamp, millis,
    raw>, as source/port.py reads them.

    `capture` limits which records keep their raw bytes; without it, and for an archive, all do.
    With `capture` and `observed`, the query also observes counts and rejected records, for the
    audit.

    `clock_ms` is when the records' batch was planned, in milliseconds since the epoch. Only a batch
    query needs it: in a streaming query the current time is that already, also when the batch runs
    again (MicroBatchExecution).

    `failing` has the records on which an expression fails (checkpoint/notes/failing.py): they are
    malformed, so no step sees them. `notes` gets the slices of the records.

    `counts` observes outcome_counts in a batch query.
    """
    clock = F.current_timestamp() if clock_ms is None else F.timestamp_millis(F.lit(clock_ms))
    topic, limits = spec.topic, unheld(spec)
    # An archive keeps every raw byte, and of the fields only the one that it has a column for.
    wanted, kept = ([topic.event_time], None) if spec.is_archive else (None, capture)
    prepared = prepare(topic, settings.root, settings, wanted)
    decoded = decode(records, prepared, kept, failing, notes, limits)
    if spec.is_archive:
        classified = by_decoder = all_good(decoded)
    else:
        by_decoder = classify(decoded, topic, clock)
        held = refuse_unheld(decoded, topic, limits)
        classified = by_decoder if held is decoded else classify(held, topic, clock)
    if capture and observed:
        classified = observe_classified(classified, spec)
    if counts:
        classified = classified.observe(counts, *outcome_counts())
    stateful_input = chain.stateful_input(good_records(classified, topic), spec)
    if capture and observed:
        stateful_input = observe_stateful_input(stateful_input, spec, capture)
    return Dataflow(spec, classified, stateful_input, by_decoder)
