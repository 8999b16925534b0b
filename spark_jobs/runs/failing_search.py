"""Failing search: finds the records on which an expression of the spec fails, in a batch that
failed.

Spark does not say which record it was. So the batch's offsets are read again, and the part of the
query that sees one record at a time (steps/chain.py row_part) is run over halves of them, until
single records are left.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import pairwise

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.checkpoint.failing import FailingRecord, FailingRecords, read_failing
from spark_jobs.classify.classifier import good_records
from spark_jobs.contract.errors import ExpressionFailed
from spark_jobs.contract.micro_batch import Batch
from spark_jobs.dataflow import dataflow
from spark_jobs.run import Run
from spark_jobs.runs.data_error import DataError
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
    """The records of the batch that fail by themselves, besides those that are known."""
    found: list[FailingRecord] = []
    for part in slices(batch):
        records = kafka_source.read_batch(run.spark, run.spec, run.settings, part)
        flow = dataflow(records, run.spec, clock_ms=part.clock_ms or None, failing=known.reasons)
        good = good_records(flow.classified).persist()
        try:
            search = _Search(run, part, good, found, MOST - len(known.of(batch.id)))
            search.look(0, part.covered, search.error(0, part.covered))
        finally:
            good.unpersist()
    return found


class _Search:
    """The search in one part of a batch.

    A place is the number of an offset within the part, partition by partition.
    """

    def __init__(
        self, run: Run, part: Batch, good: DataFrame, found: list[FailingRecord], most: int
    ) -> None:
        self._run = run
        self._part = part
        self._good = good
        self._found = found
        self._most = most

    def look(self, start: int, end: int, error: DataError | None) -> None:
        """Add the failing records between two places, of which it is known whether there are
        any.
        """
        if error is None or start == end:
            return
        if end - start == 1:
            self._add(start, error)
            return
        middle = (start + end) // 2
        first = self.error(start, middle)
        self.look(start, middle, first)
        # If the first half does not fail, the second one does.
        self.look(middle, end, self.error(middle, end) if first or end - middle == 1 else error)

    def error(self, start: int, end: int) -> DataError | None:
        """What fails on the records between two places; None if nothing does."""
        spec = self._run.spec
        rows = chain.stateful_input(self._good.where(self._within(start, end)), spec)
        rows = chain.row_part(rows, spec, self._part.late_before_ms)
        try:
            rows.write.format("noop").mode("append").save()
        except (PySparkException, Py4JJavaError) as error:
            if (found := DataError.of(str(error))) is None:
                raise
            return found
        return None

    def _add(self, place: int, error: DataError) -> None:
        [(partition, offset, _)] = spans(self._part, place, place + 1)
        spec = self._run.spec
        record = FailingRecord(
            batch=self._part.id, partition=partition, offset=offset, reason=error.reason(spec)
        )
        self._found.append(record)
        if len(self._found) > self._most:
            raise error.failed(
                spec.name,
                error.where(spec),
                f"It fails on more than {MOST} records of batch {self._part.id}: the expression is "
                "wrong, not the records.",
            )

    def _within(self, start: int, end: int) -> Column:
        """boolean over the good records: whether a record is between two places."""
        within = F.lit(False)
        for partition, first, last in spans(self._part, start, end):
            offsets = F.col("kafka.offset").between(first, last)
            within = within | ((F.col("kafka.partition") == partition) & offsets)
        return within


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


def spans(part: Batch, start: int, end: int) -> list[tuple[int, int, int]]:
    """Partition, first and last offset of each partition that is between two places."""
    found, at = [], 0
    for partition, stop in sorted(part.end.items()):
        begin = part.start.get(partition, 0)
        first, last = begin + max(start - at, 0), min(begin + end - at, stop) - 1
        if first <= last:
            found.append((partition, first, last))
        at += stop - begin
    return found
