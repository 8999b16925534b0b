"""Places: what the driver reads of the keys of some rows, and writes at their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.spec.steps.history import CURRENT
from spark_jobs.steps.keyed.merge import kept_anew
from spark_jobs.steps.keyed.places import ranks
from spark_jobs.table.open_version import Merge, Opened
from spark_jobs.values.own_columns import WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.spec.steps.following import Following


def put(rows: pa.Table, step: Following, *, newest_only: bool = False) -> Merge:
    """What places get: the rows where WHOLE is true; where it is false `kept_anew` alone; where it
    is null the row there goes.
    """
    columns = [name for name in rows.column_names if name != WHOLE]
    anew = tuple(kept_anew(step, columns))
    # So no file of what has ended is written anew.
    return Merge(rows, tuple(step.row_key), anew, CURRENT if newest_only else "")


def rows_of(table: Opened, wanted: pa.Table, step: Following, columns: Iterable[str]) -> pa.Table:
    """All that the table has of the keys of these rows: a person may have changed any of it."""
    # A filter by keys would be held against the statistics of the files too, which delta-rs may
    # give as another type of text than the columns.
    scanned = table.scan(columns)
    found = [batch.filter(_may_be(batch, wanted, step)) for batch in scanned.to_batches()]
    rows = pa.Table.from_batches(found, scanned.projected_schema)
    if len(step.keys) == 1:
        return rows
    # Of a key of several columns there are others, which are made of their values.
    keys = wanted.select(step.keys)
    both = pa.concat_tables([rows.select(step.keys).cast(keys.schema), keys])
    of = ranks(both, step.keys)
    asked = pa.array(of[rows.num_rows :])
    return rows.filter(pc.is_in(pa.array(of[: rows.num_rows]), value_set=asked))


def _may_be(batch: pa.RecordBatch, wanted: pa.Table, step: Following) -> pa.Array:
    """boolean: whether each column of the key has a value of one of these rows."""
    few: pa.Array = pa.array([True] * batch.num_rows)
    for key in step.keys:
        values = pc.unique(wanted[key]).cast(batch[key].type)
        few = pc.and_(few, pc.is_in(batch[key], value_set=values))
    return few
