"""Ties: changes of a key with one order_by and different contents, where a Latest refuses them.

The first of them stays: that of the table, or of the lowest offset. The others are put
aside by their places, and the batch runs again without them (runs/failures/ties_aside.py). A tie
below the newest order_by of its key decides nothing: it is superseded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from spark_jobs.errors import RowRefused
from spark_jobs.sink.keyed.fates import BEFORE, compared, wins
from spark_jobs.values.own_columns import CONTENTS, DELETED, OFFSET, PARTITION, own

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from spark_jobs.sink.commit import Commit
    from spark_jobs.spec import Latest

OTHERS: Final = own("others")
"""How many changes of the key in the batch have the order_by of this one, and other contents."""
HELD: Final = own("held_")
"""The first letters of the columns with the delete and the contents that stay."""
MOST: Final = 2_000
"""Changes that are told at once: the rest is found when the batch runs again."""


class Tied(Exception):
    """A batch has such changes."""

    def __init__(self, stays: pa.Table) -> None:
        super().__init__(f"ties of {stays.num_rows} keys")
        self.stays = stays


def refuse_ties(held: pa.Table, step: Latest) -> None:
    """Raise Tied if there are some. `held`: the newest change of each key, OTHERS, and with BEFORE
    what the table has of it.
    """
    found = tied(held, step)
    if found.num_rows:
        raise Tied(found)


def refuse_in_spark(changes: DataFrame, step: Latest) -> None:
    """Likewise in Spark, by the same function."""
    names = compared(step.order_by)
    needed = [*step.keys, *names, *(BEFORE + name for name in names), OTHERS]
    some = changes.select(*(f"`{name}`" for name in needed))
    stays = [some.schema[name] for name in (*step.keys, *step.order_by)]
    stays += [StructField(HELD + name, some.schema[name].dataType) for name in (DELETED, CONTENTS)]

    def of_part(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - in a worker of Spark

        for batch in batches:
            yield from tied(pa.Table.from_batches([batch]), step).to_batches()

    found = some.mapInArrow(of_part, StructType(stays)).toArrow()
    if found.num_rows:
        raise Tied(found)


def tied(held: pa.Table, step: Latest) -> pa.Table:
    """Of each key with a tie: its columns, those of order_by, and with HELD what stays there."""
    there = pc.is_valid(held[BEFORE + DELETED])
    level = there
    for name in step.order_by:
        equal = pc.fill_null(pc.equal(held[name], held[BEFORE + name]), fill_value=False)
        level = pc.and_(level, equal)
    several = pc.greater(held[OTHERS], 0)
    newer = pc.and_(wins(held, step.order_by), pc.invert(level))
    mine, theirs = ([held[f"{of}{name}"] for name in (DELETED, CONTENTS)] for of in ("", BEFORE))
    differ = pc.or_(*(pc.not_equal(*each) for each in zip(mine, theirs, strict=True)))
    differ = pc.and_(level, pc.fill_null(differ, fill_value=False))
    which = pc.or_(pc.and_(several, pc.or_(newer, level)), differ)
    stays = held.select([*step.keys, *step.order_by])
    for name, own_value, before in zip((DELETED, CONTENTS), mine, theirs, strict=True):
        stays = stays.append_column(HELD + name, pc.if_else(level, before, own_value))
    return stays.filter(which)


@contextmanager
def refusing(rows: DataFrame, step: Latest, commit: Commit) -> Iterator[None]:
    """Within the block, Tied becomes the error that names the places of what is refused."""
    try:
        yield
    except Tied as found:
        places = _places(rows, found.stays, step)
        raise RowRefused.changes_tied(
            pipeline=commit.owner.rpartition("/")[0],
            order_by=", ".join(step.order_by),
            records=" ".join(f"{partition}:{offset}" for partition, offset in places),
        ) from None


def _places(rows: DataFrame, stays: pa.Table, step: Latest) -> list[tuple[int, int]]:
    same = rows.sparkSession.createDataFrame(stays)
    differs = F.lit(False)
    for name in (DELETED, CONTENTS):
        differs = differs | (F.col(f"`{name}`") != F.col(f"`{HELD}{name}`"))
    found = rows.join(F.broadcast(same), [*step.keys, *step.order_by]).where(differs)
    places = found.select(PARTITION, OFFSET).orderBy(PARTITION, OFFSET).limit(MOST)
    return [(partition, offset) for partition, offset in places.collect()]
