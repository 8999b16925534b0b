"""Record search: finds the records on which an expression of the spec fails.

Spark does not say which record it was. So the part of the query that sees one record at a time
(steps/chain.py row_part) is run over halves of the records, until single ones are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.runs.failures.data_error import DataError
from spark_jobs.source.micro_batch import Batch

Computed = Callable[[DataFrame], DataFrame]
"""Good records -> what the query computes of each by itself."""


class Failing(NamedTuple):
    """A record that fails by itself."""

    partition: int
    offset: int
    error: DataError


def error_of(rows: DataFrame) -> DataError | None:
    """What fails when the rows are computed; None if nothing does."""
    try:
        rows.write.format("noop").mode("append").save()
    except (PySparkException, Py4JJavaError) as error:
        if (found := DataError.of(str(error))) is None:
            raise
        return found
    return None


def failing(part: Batch, good: DataFrame, computed: Computed) -> Iterator[Failing]:
    """Those at the offsets of the part, in the order of partitions and offsets, each when it is
    asked for. `good` has the column kafka, and is read for each half: the caller persists it.
    """
    search = _Search(part, good, computed)
    return search.look(0, part.covered, search.error(0, part.covered))


class _Search:
    """The search in one part of a batch.

    A place is the number of an offset within the part, partition by partition.
    """

    def __init__(self, part: Batch, good: DataFrame, computed: Computed) -> None:
        self._part = part
        self._good = good
        self._computed = computed

    def look(self, start: int, end: int, error: DataError | None) -> Iterator[Failing]:
        """The failing records between two places, where it is known whether there are any."""
        if error is None or start == end:
            return
        if end - start == 1:
            [(partition, offset, _)] = spans(self._part, start, end)
            yield Failing(partition, offset, error)
            return
        middle = (start + end) // 2
        first = self.error(start, middle)
        yield from self.look(start, middle, first)
        # If the first half does not fail, the second one does.
        second = self.error(middle, end) if first or end - middle == 1 else error
        yield from self.look(middle, end, second)

    def error(self, start: int, end: int) -> DataError | None:
        """What fails on the records between two places; None if nothing does."""
        return error_of(self._computed(self._good.where(self._within(start, end))))

    def _within(self, start: int, end: int) -> Column:
        """boolean over the good records."""
        within = F.lit(False)
        for partition, first, last in spans(self._part, start, end):
            offsets = F.col("kafka.offset").between(first, last)
            within = within | ((F.col("kafka.partition") == partition) & offsets)
        return within


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
