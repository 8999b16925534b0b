"""Rejected store: puts a batch's rejected records into ops.quarantine and ops.late.

A record that an earlier try stored stays, and is not stored again: Kafka may have no more of it.

Of one batch, so many bytes of quarantined records are kept: a flood of malformed records would else
be stored a second time, without end. A record beyond has its row with place, kind and reason, so
that the account and every repair know it; its key, value and headers are null.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import Observation, functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.checkpoint.run import Run
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import RAW, SCHEMAS, Row
from spark_jobs.rejected.rejected_record import RejectedRecord
from spark_jobs.source.micro_batch import Batch
from spark_jobs.spec.reader_options import tasks
from spark_jobs.steps.classify import QUARANTINED, Outcome
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.values.own_columns import ELEMENT, KAFKA, MALFORMED, OUTCOME

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.inputs import Topics

MEGABYTE = 1_000_000
MOST_REASON = 300
"""Characters that such a record's reason has: a decoder's may repeat a value, of any length."""


class Share(NamedTuple):
    """What one of several tasks may keep. Goes to the executors."""

    bytes: int

    @classmethod
    def of(cls, megabytes: str, tasks: int) -> Share:
        """The share of one task in so many megabytes of a batch."""
        return cls(int(megabytes) * MEGABYTE // max(1, tasks))


class ByteBudget:
    """The budget of one task: rows of ops.quarantine, one after the other."""

    def __init__(self, share: Share) -> None:
        self._left = share.bytes

    def row(self, row: Row) -> Row:
        """The row, without its bytes if they are beyond the budget. A smaller one that comes later
        may still fit.
        """
        parts = [row["key"], row["value"]]
        for each in row["headers"] or ():
            parts += [each["key"], each["value"]]  # a name has few letters beyond ASCII
        size = sum(len(part or b"") for part in parts)
        if size <= self._left:
            self._left -= size
            return row
        reason = f"{row['reason'][:MOST_REASON]} (its {size:,} bytes are not kept)"
        return row | {"left_out": size, "reason": reason} | dict.fromkeys(RAW)


TABLES = {"quarantine": QUARANTINED, "late": (Outcome.LATE,)}
"""Ops table -> the outcomes of the records that it keeps."""


def key(run: Run, batch: Batch) -> dict[str, str | int]:
    """The columns that name the batch in an ops table."""
    return {
        "pipeline": run.paths.pipeline,
        "generation": run.identity.generation,
        "batch_id": batch.id,
    }


def keep(run: Run, spec: Pipeline, batch: Batch, rejected: Iterable[RejectedRecord]) -> int:
    """Store records that are in the driver's memory; of how many quarantined ones the bytes are not
    kept.
    """
    as_row, unkept = _Rows(run, spec, batch, tasks=1), 0
    rejected, made = list(rejected), as_row.task()
    for table, outcomes in TABLES.items():
        records = [record for record in rejected if record.outcome in outcomes]
        if not records:
            continue
        earlier = _stored(run, batch, table).to_pylist()
        stored = {(row["partition"], row["offset"], row["element"]) for row in earlier}
        new = [
            made(record)
            for record in records
            if (record.partition, record.offset, record.element) not in stored
        ]
        unkept += sum(row["left_out"] for row in earlier)
        unkept += sum(row.get("left_out") is not None for row in new)
        if new:
            ops_tables.append(run.paths.root, table, new)
    return unkept


def keep_on_executors(
    run: Run, spec: Pipeline, batch: Batch, rejected: DataFrame
) -> dict[str, int]:
    """Store records of any number and size: executors write them as files, which one commit adds
    to the ops table. None passes the driver.

    `rejected` has a column for each field of RejectedRecord. The result is how many records of each
    outcome are stored, counted as they were written; and as "unkept" of how many quarantined ones
    the bytes are not kept.
    """
    counts = Counter[str]()
    for table in TABLES:
        counts.update(_keep_in(run, spec, batch, table, rejected))
    return dict(counts)


def rejected_columns(inputs: Topics) -> list[Column]:
    """Of classified records: one for each field of RejectedRecord."""
    return [
        F.col("kafka.partition"),
        F.col("kafka.offset"),
        F.col("kafka.timestamp").alias("kafka_timestamp"),
        F.col("kafka.millis").alias("kafka_millis"),
        # As a number: Arrow gives Python no time that Python has not.
        F.unix_micros(inputs.event_time).alias("event_time"),
        F.col("kafka.raw.key"),
        F.col("kafka.raw.value"),
        # Those that were not read go to Python as no list (decode/decoder.py).
        F.col("kafka.raw.headers")
        if inputs.reads_headers
        else F.lit(None).cast("string").alias("headers"),
        F.col(OUTCOME).alias("outcome"),
        F.col(MALFORMED).alias("malformed"),
        *([F.col(f"{KAFKA}.{ELEMENT}")] if inputs.spread else []),
    ]


def _keep_in(
    run: Run, spec: Pipeline, batch: Batch, table: str, rejected: DataFrame
) -> dict[str, int]:
    # Spark's own commit to a Delta table would not see that of another pipeline's run, whose
    # writer is delta-rs: on a local disk the later one of the two takes the other's place.
    schema = SCHEMAS[table].remove(SCHEMAS[table].get_field_index("pipeline"))
    readers = tasks(run.spec.reader_options, len(batch.end), len(run.spec.inputs))
    as_row, outcomes = _Rows(run, spec, batch, readers), TABLES[table]

    def rows(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made_row = as_row.task()
        for part in given:
            made = [made_row(RejectedRecord.of_row(row)) for row in part.to_pylist()]
            yield pa.RecordBatch.from_pylist(made, schema)

    stored = _stored(run, batch, table)
    place = ["partition", "offset", *(["element"] if spec.inputs.spread else [])]
    places = F.broadcast(run.spark.createDataFrame(stored.select(place)))
    there = reduce(and_, (rejected[name].eqNullSafe(places[name]) for name in place))
    new = rejected.where(F.col("outcome").isin(*(outcome.value for outcome in outcomes))).join(
        places, there if spec.inputs.spread else place[:2], "left_anti"
    )
    written = Observation()
    kind = F.col("kind") if table == "quarantine" else F.lit(Outcome.LATE.value)
    counts = [F.count_if(kind == outcome.value).alias(outcome.value) for outcome in outcomes]
    if table == "quarantine":
        counts.append(F.count(F.col("left_out")).alias("unkept"))
    folder = (
        ops_tables.made(run.paths.root, table) / f"pipeline={run.paths.pipeline}" / uuid.uuid4().hex
    )
    (
        new.mapInArrow(rows, from_arrow_schema(schema))
        .observe(written, *counts)
        .write.parquet(spark_url(folder))
    )
    ops_tables.add_files(run.paths.root, table, run.paths.pipeline, folder)
    earlier = Counter(stored["outcome"].to_pylist())
    if table == "quarantine":
        earlier["unkept"] = sum(stored["left_out"].to_pylist())
    return {name: count + earlier[name] for name, count in written.get.items()}


def _stored(run: Run, batch: Batch, table: str) -> pa.Table:
    """Places and outcomes of the batch's records that an earlier try stored, and whether it left
    their bytes out: also one of an earlier generation, whose batch a rewind kept before it had an
    account.
    """
    outcome, left_out = f"'{Outcome.LATE.value}'", "false"
    if table == "quarantine":
        outcome, left_out = "kind", "left_out IS NOT NULL"
    of_batch = ops_tables.equals({"pipeline": run.paths.pipeline, "batch_id": batch.id})
    return ops_tables.query(
        run.paths.root,
        table,
        f'SELECT partition, "offset", element, {outcome} AS outcome, '
        f"{left_out} AS left_out FROM {table} "
        f"WHERE {of_batch} AND {ops_tables.among('generation', run.identity.generations)}",
    )


class _Rows:
    """A rejected record's row in its ops table, by several tasks. Goes to the executors, so it
    holds plain values.
    """

    def __init__(self, run: Run, spec: Pipeline, batch: Batch, tasks: int) -> None:
        self._share = Share.of(run.settings.quarantine_megabytes, tasks)
        self._where: Row = {**key(run, batch), "run_id": run.run_id}
        self._batch = batch
        self._inputs = spec.inputs
        # Without a stateful step no record is late.
        self._step = spec.entry.kind if spec.entry else ""

    def task(self) -> Callable[[RejectedRecord], Row]:
        """What makes the rows of one task."""
        budget = ByteBudget(self._share)

        def row(record: RejectedRecord) -> Row:
            # The bytes of a late record are all kept: a repair merges it.
            if record.outcome is Outcome.LATE:
                return self._where | record.late(self._inputs, self._batch, self._step)
            return budget.row(self._where | record.quarantined(self._inputs, self._batch))

        return row
