"""Failing search: finds the records on which an expression of the spec fails, in a batch that
failed. The batch's offsets are read again; record_search.py looks among them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

from spark_jobs.checkpoint.failing import FailingRecord, FailingRecords, read_failing
from spark_jobs.classify.classifier import good_records
from spark_jobs.contract.errors import ExpressionFailed
from spark_jobs.contract.micro_batch import Batch
from spark_jobs.dataflow import dataflow
from spark_jobs.run import Run
from spark_jobs.runs.data_error import DataError
from spark_jobs.runs.record_search import failing
from spark_jobs.sink.table import newest_batch
from spark_jobs.source import kafka_source
from spark_jobs.steps import chain

LOG = logging.getLogger(__name__)
SLICE = 500_000
"""Offsets that are read and kept at once."""
MOST = 100
"""Failing records of one batch. If there are more, the expression is wrong, not the records."""


def set_failing_aside(run: Run, failed: StreamingQueryException, audited: int) -> int:
    """Store the records that made the planned batch fail, so that they are malformed when it runs
    again; the batch's id.

    Raises ExpressionFailed if no record fails by itself, or more than MOST do.
    """
    error = DataError.of(str(failed))
    committed, planned = run.checkpoint.committed(), run.checkpoint.planned()
    if error is None or planned[-1:] == committed[-1:]:
        raise failed
    batch = run.checkpoint.batch(planned[-1])
    if batch.id <= newest_batch(run.target.table, run.target.owner):
        raise _nobody(run, error, f"Batch {batch.id} is in the table with all of its records.")
    known = read_failing(run.target.failing)
    LOG.info("%s: batch %d failed; looking for the records", run.spec.name, batch.id)
    found = [
        record
        for record in _failing_records(run, batch, known)
        if (record.partition, record.offset) not in known.reasons  # or this would never end
    ]
    if not found:
        why = "several do together, with the state, or behind a step that keeps state"
        raise _nobody(run, error, f"No record of batch {batch.id} fails by itself: {why}.")
    run.lease.confirm()  # without the lease, the planned batch may belong to the next run
    known.with_more(found, audited).write(run.target.failing)
    # Without the reasons, which may contain values: logs are read by more people than the records.
    LOG.warning(
        "%s: batch %d: an expression fails on %d record(s), which are malformed: %s; "
        "`sluice show quarantine` has the reasons",
        run.spec.name,
        batch.id,
        len(found),
        ", ".join(f"partition {each.partition} offset {each.offset}" for each in found[:5]),
    )
    return batch.id


def _nobody(run: Run, error: DataError, why: str) -> ExpressionFailed:
    return error.failed(run.spec.name, error.where(run.spec), why)


def _failing_records(run: Run, batch: Batch, known: FailingRecords) -> list[FailingRecord]:
    """The records of the batch that fail by themselves, besides those that are known.

    Raises ExpressionFailed if the batch has more than MOST of them, with the known ones.
    """
    spec, found, most = run.spec, list[FailingRecord](), MOST - len(known.of(batch.id))
    for part in slices(batch):
        records = kafka_source.read_batch(run.spark, spec, run.settings, part)
        flow = dataflow(records, spec, clock_ms=part.clock_ms or None, failing=known.reasons)
        good = good_records(flow.classified).persist()

        def computed(rows: DataFrame, late_before_ms: int = part.late_before_ms) -> DataFrame:
            return chain.row_part(chain.stateful_input(rows, spec), spec, late_before_ms)

        try:
            for partition, offset, error in failing(part, good, computed):
                if len(found) == most:
                    raise _too_many(run, batch, error)
                found.append(
                    FailingRecord(
                        batch=batch.id,
                        partition=partition,
                        offset=offset,
                        reason=error.reason(spec),
                    )
                )
        finally:
            good.unpersist()
    return found


def _too_many(run: Run, batch: Batch, error: DataError) -> ExpressionFailed:
    return error.failed(
        run.spec.name,
        error.where(run.spec),
        f"It fails on more than {MOST} records of batch {batch.id}: the expression is wrong, not "
        "the records.",
    )


def slices(batch: Batch, most: int = SLICE) -> Iterator[Batch]:
    """The batch in parts of about `most` offsets or fewer.

    All partitions are cut at the same shares.
    """
    parts = max(1, -(-batch.covered // most))
    cuts = [
        {
            p: batch.start.get(p, 0) + (end - batch.start.get(p, 0)) * n // parts
            for p, end in batch.end.items()
        }
        for n in range(parts + 1)
    ]
    for start, end in pairwise(cuts):
        yield batch._replace(start=start, end=end)
