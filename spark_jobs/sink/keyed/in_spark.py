"""In Spark: the newest changes of a batch in the place of what the table has of their keys, and
their fates, where the driver should not hold batch or table.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from spark_jobs.sink.keyed.driver import held
from spark_jobs.sink.keyed.fates import ALL, BEFORE, COPIES, Fates, compared, fates
from spark_jobs.sink.keyed.replacing import Replacing
from spark_jobs.sink.keyed.standing import key_broken
from spark_jobs.table.delta.contention import again
from spark_jobs.values.own_columns import CONTENTS, DELETED, WHOLE, placed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from spark_jobs.spec import Latest
    from spark_jobs.table.delta.commit import Commit
    from spark_jobs.table.port import Note


def replace_in_spark(changes: DataFrame, step: Latest, commit: Commit) -> None:
    """Put the newest changes, which are cached, in the place of what the table has of their keys.
    Their fates are found anew where another writer was faster. Raises TableChanged if it has
    several rows of a key.
    """

    keys = changes.count()  # so Spark knows their size, and keeps few in memory beside the table

    def replace_once() -> None:
        replacing = Replacing(changes.sparkSession, commit)
        if replacing.done:
            return
        with held(_beside(changes, replacing.rows, step)) as found:
            if found.count() > keys:
                raise key_broken(str(commit.table), _of_several(found, step))
            note = noted(commit, told_of(found, step))
            columns = [f"`{name}`" for name in replacing.rows.columns]
            new = found.where(_wins(step)).select(*columns, _whole(step))
            replacing.put(new, step.keys, note)

    again(replace_once, commit.path)


def _beside(changes: DataFrame, table: DataFrame, step: Latest) -> DataFrame:
    """The changes, each with what the table has of its key: BEFORE columns, FILE, and columns that
    only a person has given it, which stay.
    """
    lives = F.coalesce(F.col(DELETED), F.lit(False))  # a person's row has none
    before = [F.col(f"`{n}`").alias(BEFORE + n) for n in compared(step.order_by) if n != DELETED]
    keys = [F.col(f"`{name}`") for name in step.keys]
    others = [F.col(f"`{name}`") for name in table.columns if name not in changes.columns]
    known = table.select(*keys, *before, lives.alias(BEFORE + DELETED), *others)
    # First what few changes leave of the table: an outer join would sort all of it.
    known = known.join(changes.select(*keys), list(step.keys), "left_semi")
    return changes.join(known, list(step.keys), "left")


def _of_several(found: DataFrame, step: Latest) -> dict[str, object]:
    """A key of which the table has several rows."""
    counted = found.groupBy(*(F.col(f"`{name}`") for name in step.keys)).count()
    several: dict[str, object] = counted.where("count > 1").drop("count").collect()[0].asDict()
    return several


def _wins(step: Latest) -> str:
    """SQL: as `wins` has it, of changes with BEFORE columns."""
    names = placed(step.order_by)
    newer = above([(f"`{name}`", f"`{BEFORE}{name}`") for name in names])
    return f"`{BEFORE}{DELETED}` IS NULL OR {newer}"


def _whole(step: Latest) -> Column:
    """WHOLE: whether they are no copies of what the table has (fates.copies)."""
    same = [F.col(f"`{n}`") == F.col(f"`{BEFORE}{n}`") for n in (*step.order_by, DELETED, CONTENTS)]
    return (~F.coalesce(reduce(and_, same), F.lit(False))).alias(WHOLE)


def above(pairs: Sequence[tuple[str, str]]) -> str:
    """SQL: whether the first of each pair are above the second, where a null is below all. The
    heaviest pair comes first.
    """
    found = "false"
    for mine, theirs in reversed(pairs):
        found = f"({theirs} IS NULL OR {mine} > {theirs} OR ({mine} = {theirs} AND {found}))"
    return found


def noted(commit: Commit, told: Fates) -> Note:
    """What the commit says of itself, with the fates."""
    return {**commit.note, "fates": told._asdict()}


def told_of(changes: DataFrame, step: Latest) -> Fates:
    """The fates of changes with BEFORE columns: each part by the function that the driver uses."""
    names = compared(step.order_by)
    needed = changes.select(
        ALL, COPIES, *(f"`{at}{name}`" for at in ("", BEFORE) for name in names)
    )
    order_by = step.order_by

    def of_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - in a worker of Spark

        for batch in batches:
            counts = fates(pa.Table.from_batches([batch]), order_by)._asdict()
            yield pa.RecordBatch.from_pylist([counts])

    columns = ", ".join(f"{name} bigint" for name in Fates._fields)
    rows = needed.mapInArrow(of_part, columns).collect()
    return sum((Fates(*row) for row in rows), Fates())
