"""The columns of the ops tables: name, Arrow type, and meaning with its unit. docs/reference.md
shows them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pyarrow as pa

from spark_jobs.messages.offset_account import OF_BATCHES, Account
from spark_jobs.messages.report import CheckResult, StateUse
from spark_jobs.ops.operator_metrics import COUNTS

Row = dict[str, Any]
"""Columns of an ops table, or some of them, by name. pyarrow has no types for their values."""


class Column(NamedTuple):
    """One column of an ops table, or of a struct in one."""

    name: str
    type: pa.DataType
    about: str


_STRING, _INT, _LONG, _DOUBLE, _TIME = (
    pa.string(),
    pa.int32(),
    pa.int64(),
    pa.float64(),
    pa.timestamp("us", "UTC"),
)

RAW = ("key", "value", "headers")
"""The columns of a record's bytes, in ops.quarantine and ops.late."""
HEADERS = pa.list_(pa.struct([("key", _STRING), ("value", pa.binary())]))
"""As values/own_columns.py has it."""


def _described(model: type[Account | CheckResult], *names: str) -> Iterable[Column]:
    for name in names or tuple(model.model_fields):
        field = model.model_fields[name]
        counts = field.annotation in {int, int | None}
        yield Column(name, _LONG if counts else _STRING, field.description or "")


_PIPELINE = Column("pipeline", _STRING, "the pipeline; the tables are partitioned by it")
_RUN = Column("run_id", _STRING, "the run that wrote the row")
_STATE_ROWS = Column("state_rows", _LONG, "rows in all state stores of the pipeline at the end")
_WATERMARK = Column("watermark", _TIME, "Spark's watermark in the batch; null if there is none yet")
_GENERATION = Column(
    "generation", _STRING, "the checkpoint's generation; reset and rewind begin a new one"
)
_ELEMENT = Column(
    "element",
    _INT,
    "its number in its value, of a topic with `each`; the first of a value has the bytes",
)
_BATCH = (_PIPELINE, _GENERATION, Column("batch_id", _LONG, "Spark's id of the micro-batch"), _RUN)
_RECORD = (
    *_BATCH,
    Column("topic", _STRING, "the record's topic"),
    Column("partition", _INT, "its partition"),
    Column("offset", _LONG, "its offset in the partition"),
    Column("kafka_timestamp", _TIME, "its Kafka timestamp; null if that is no time"),
    Column(
        "kafka_millis",
        _LONG,
        "its Kafka timestamp, in milliseconds since 1970, if it is not of the years 1700 to 2199; "
        "else null",
    ),
    Column("event_time", _TIME, "its event time; null if it could not be decoded"),
    Column("key", pa.binary(), "its key, as it is in Kafka"),
    Column("value", pa.binary(), "its value, as it is in Kafka"),
    Column("headers", HEADERS, "its headers in their order; null if the spec read none"),
    _ELEMENT,
)
OPERATOR = (
    Column("step", _INT, "the step's index in the spec, from 0; the command line counts from 1"),
    Column("kind", _STRING, "the step's kind: deduplicate, aggregate or group_state"),
    Column("operatorName", _STRING, "Spark's name of the operator"),
    *(Column(name, _LONG, about) for name, about in COUNTS.items()),
)
"""The struct in the list `operators` of ops.batches: one stateful operator in one batch."""

RANGE = (
    Column("start", _TIME, "the first position"),
    Column("end", _TIME, "the position after the last"),
)
"""The struct in the lists `ranges` and `differing` of ops.repairs."""

COLUMNS: dict[str, tuple[Column, ...]] = {
    "runs": (
        _PIPELINE,
        Column("run_id", _STRING, "the run"),
        Column("kind", _STRING, "one of the kinds of run"),
        Column("status", _STRING, "succeeded or failed"),
        Column(
            "problem", _STRING, "the code of the error that ended the run; null if it succeeded"
        ),
        Column("started_at", _TIME, "when the run began"),
        Column("ended_at", _TIME, "when the run ended"),
        Column(
            "query_seconds", _DOUBLE, "seconds from the start of the streaming query to its end"
        ),
        Column("batches", _LONG, "micro-batches that the run accounted for"),
        *_described(
            Account,
            "read",
            "rows_out",
            "duplicates",
            "late",
            "malformed",
            "premature",
            "unaccounted",
        ),
        _STATE_ROWS,
        Column(
            "watermark",
            _TIME,
            "Spark's watermark in the last committed batch; null if there is none yet",
        ),
        Column("table_version", _LONG, "the table's version at the end of the run"),
        Column("report", _STRING, "the whole report, as JSON"),
    ),
    "batches": (
        *_BATCH,
        Column(
            "source",
            _STRING,
            "source of the counts: progress (Spark's progress), or reread (Kafka, read again)",
        ),
        Column(
            "seconds", _DOUBLE, "duration of the batch in seconds; null if its progress was lost"
        ),
        Column("offsets_start", _STRING, "partition -> first offset, as JSON"),
        Column("offsets_end", _STRING, "partition -> offset after the last, as JSON"),
        *_described(Account, *OF_BATCHES),
        Column(
            "first_event_time",
            _TIME,
            "smallest event time of the records that entered the first stateful step",
        ),
        Column(
            "last_event_time",
            _TIME,
            "largest event time of the records that entered the first stateful step",
        ),
        _WATERMARK,
        Column(
            "late_before",
            _TIME,
            "records at or before it were late: the previous batch's watermark; null without one",
        ),
        Column(
            "groups_in",
            _LONG,
            "rows that entered the Aggregate whose `counts` counts them; null without one, or if "
            "the progress was lost and nothing else tells",
        ),
        Column(
            "groups_out",
            _LONG,
            "of them, those in the groups that the batch wrote and evicted; null likewise",
        ),
        _STATE_ROWS,
        Column(
            "state_bytes", _LONG, f"size of the state: {StateUse.model_fields['bytes'].description}"
        ),
        Column(
            "operators",
            pa.list_(pa.struct([(column.name, column.type) for column in OPERATOR])),
            "one struct with the metrics of each stateful operator; null if the progress was lost",
        ),
        Column(
            "table_version",
            _LONG,
            "the version of the table that the batch committed; null if it wrote nothing",
        ),
        Column(
            "schemas",
            _STRING,
            "id of a schema -> the records that begin with it, as JSON; of keys with 'key ' before "
            "the id; null without a registry, or if not known",
        ),
        Column("topics", _STRING, "of several topics: name -> its account, as JSON; null with one"),
        Column(
            "rules",
            pa.map_(_STRING, _LONG),
            "rule -> the records that fail it, of any outcome; of several topics `topic/rule`; "
            "null without rules",
        ),
        Column(
            "unmatched",
            pa.map_(_STRING, _LONG),
            "dimension -> the rows that found none of its rows; null without one, or if the "
            "progress was lost",
        ),
        Column("audited_at", _TIME, "when the audit accounted for the batch"),
    ),
    "quarantine": (
        *_RECORD,
        Column("kind", _STRING, "malformed or premature"),
        Column("reason", _STRING, "why the record was not accepted"),
        Column(
            "planned_at",
            _TIME,
            "when its batch was planned, or a repair judged it: an event time much later than that "
            "is premature; null if an older Sluice wrote the row",
        ),
        Column(
            "left_out",
            _LONG,
            "bytes of its key, value and headers, if they are not kept: its batch had spent "
            "SLUICE_QUARANTINE_MEGABYTES; else null",
        ),
    ),
    "late": (
        *_RECORD,
        Column(
            "watermark_missed",
            _TIME,
            "the watermark that the record missed: its event time was at or before it",
        ),
        Column("step", _STRING, "the kind of the stateful step that dropped it"),
    ),
    "slices": (
        *_BATCH,
        Column("partition", _INT, "the partition of the slice, which is a run of its offsets"),
        Column("first_offset", _LONG, "the slice's first offset"),
        Column(
            "last_offset",
            _LONG,
            "its last offset; the slices of a batch leave none out that Kafka had at its account",
        ),
        Column("records", _LONG, "records in it, of any outcome; the other offsets are gaps"),
        Column(
            "first_event_time",
            _TIME,
            "smallest event time of its records, without those that are malformed, premature or "
            "late for certain (and so in ops.quarantine or ops.late); null if there are no others",
        ),
        Column("last_event_time", _TIME, "largest event time of the same records"),
        Column("late", _LONG, "records that were left out of both as late for certain"),
        Column("first_late_time", _TIME, "smallest event time of those; null if there are none"),
        Column("last_late_time", _TIME, "largest event time of those"),
    ),
    "checks": (
        _PIPELINE,
        _GENERATION,
        _RUN,
        Column("checked_at", _TIME, "when the checks of the run were evaluated"),
        Column("table_version", _LONG, "the version of the table that was checked"),
        *_described(
            CheckResult,
            "suite",
            "type",
            "column",
            "severity",
            "outcome",
            "about",
            "observed",
            "unexpected",
            "sample",
        ),
    ),
    "repairs": (
        _PIPELINE,
        Column("repair_id", _STRING, "the repair; its undo is a row of its own, `<repair>/undo`"),
        _GENERATION,
        Column("kind", _STRING, "the kind of run"),
        Column(
            "state",
            _STRING,
            "staged (computed, compared, and not in the table yet); rejected (a person declined "
            "it); canonical (the table had these rows already); swapped (they are in the table); "
            "undone (they were, and were taken back); failed",
        ),
        Column(
            "ranges",
            pa.list_(pa.struct([(column.name, column.type) for column in RANGE])),
            "one struct for each range of positions that was computed",
        ),
        Column(
            "differing",
            pa.list_(pa.struct([(column.name, column.type) for column in RANGE])),
            "the parts of the ranges in which rows differ, in whole hours or days; null before the "
            "swap",
        ),
        Column("horizon", _STRING, "partition -> offset up to which records were used, as JSON"),
        Column("batch", _LONG, "the newest batch then"),
        Column("request", _STRING, "who asked for it, with which parameters and note, as JSON"),
        Column("sources", _STRING, "source of the records -> how many, as JSON"),
        Column("read", _LONG, "records that were read"),
        Column("malformed", _LONG, "of them, those that did not decode"),
        Column("premature", _LONG, "of them, those ahead of their time by more than max_ahead"),
        Column("filtered", _LONG, "of them, those that a condition of the spec left out"),
        Column("rules", pa.map_(_STRING, _LONG), "as in ops.batches"),
        Column(
            "kept_aside",
            _LONG,
            "of them, those of ops.quarantine and ops.late of which it uses nothing; null if an "
            "older Sluice wrote the row",
        ),
        Column("outside", _LONG, "of them, good ones that no row of the ranges needs"),
        Column("used", _LONG, "of them, those from which the rows were computed"),
        Column("duplicates", _LONG, "of them, copies of a used one"),
        Column("late_merged", _LONG, "late records that are in the rows now"),
        Column("replayed", _LONG, "quarantined records that are in the rows now"),
        Column("rows_before", _LONG, "rows of the ranges in the table before the swap"),
        Column("rows_after", _LONG, "rows of the ranges as computed"),
        Column("added", _LONG, "rows that the table lacked"),
        Column("removed", _LONG, "rows of the table that the computation does not give"),
        Column("changed", _LONG, "rows that have other values now"),
        Column(
            "unexplained", _LONG, "of these changes, those that no late or replayed record explains"
        ),
        Column("unaccounted", _LONG, "mismatches in the account of the records; 0 if exact"),
        Column(
            "reused_keys",
            _LONG,
            "keys with copies further apart than the delay; null where no Deduplicate of the scope "
            "watermark comes first",
        ),
        Column(
            "ambiguous_copies",
            _LONG,
            "copies between once and twice the delay apart, which a batch may have kept or not; "
            "null likewise",
        ),
        Column("spec_digest", _STRING, "digest of the spec by which the rows were computed"),
        Column(
            "inputs",
            _STRING,
            "table beside the stream -> id and version that it read, as JSON; null without one",
        ),
        Column("table_version_before", _LONG, "the table's version before it"),
        Column("table_version", _LONG, "the version that the swap committed; null without one"),
        Column("staged_at", _TIME, "when the rows were computed"),
        Column("approved_by", _STRING, "who approved it; null if nobody had to"),
        Column(
            "swapped_at",
            _TIME,
            "when the swap was committed; when it was recorded, where no row differed",
        ),
        Column("seconds", _DOUBLE, "seconds that the computation took"),
        Column(
            "report",
            _STRING,
            "the report of the run that computed it, as JSON, without values of rows",
        ),
    ),
    "merged": (
        _PIPELINE,
        _GENERATION,
        Column("topic_id", _STRING, "Kafka's id of the topic: a remade topic has another"),
        Column("partition", _INT, "the record's partition"),
        Column("offset", _LONG, "its offset in the partition"),
        Column("element", _INT, "its number in its value, of a topic with `each`"),
        Column(
            "source",
            _STRING,
            "where the record was: late or quarantine; taken out: it was replayed from quarantine, "
            "and a later repair found it bad, so that it is not in the rows and waits again",
        ),
        Column("repair_id", _STRING, "the repair that used it"),
        Column(
            "fate",
            _STRING,
            "merged (it is in the rows now), duplicate, filtered, or why it still cannot be used",
        ),
        Column("position", _TIME, "the position that the record touches; null if none is known"),
        Column("event_time", _TIME, "its event time; null if an older Sluice wrote the row"),
        Column(
            "taken_out_by",
            _STRING,
            "the repair that took it out of the rows: an undo of that one gives it back",
        ),
    ),
    "outdated": (
        _PIPELINE,
        _GENERATION,
        Column("input", _STRING, "the table beside the stream"),
        Column("table_id", _STRING, "its identity"),
        Column("version", _LONG, "its version that has the change"),
        Column("key", _STRING, "its key's columns -> their values, as JSON; null: all keys"),
        Column("start", _TIME, "the first event time concerned; null: since ever"),
        Column("end", _TIME, "the event time after the last; null: for ever"),
        Column("batch", _LONG, "the last batch that read the table without the change"),
        Column("noted_at", _TIME, "when a run found it"),
    ),
}
"""Table -> its columns."""

for _table, _columns in {**COLUMNS, "batches.operators": OPERATOR, "repairs.ranges": RANGE}.items():
    if _undescribed := [column.name for column in _columns if not column.about]:
        raise TypeError(
            f"ops.{_table}: these columns have no description: {', '.join(_undescribed)}"
        )

SCHEMAS: dict[str, pa.Schema] = {
    table: pa.schema([(column.name, column.type) for column in columns])
    for table, columns in COLUMNS.items()
}
"""Table -> its Arrow schema."""
