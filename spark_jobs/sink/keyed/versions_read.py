"""Versions read: the rows of a table on which the changes of a batch depend: all of their keys,
since a person may have removed or changed any of them. Without Spark.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.sink.keyed.versions import BEGINS, known_of, placing

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset

    from spark_jobs.spec import History
    from spark_jobs.spec.steps.following import Following


def touched(table: Dataset, changes: pa.Table, step: History) -> pa.Table:
    """The versions with which `chain` makes the chains of these changes' keys. Of a key of several
    columns also others that are made of their values, with all of their key.

    Columns: `known_of` and BEGINS.
    """
    columns = {name: pc.field(name) for name in known_of(step, changes.column_names)}
    columns[BEGINS] = pc.field(step.time)
    # A filter by keys would be held against the statistics of the files too, which delta-rs may
    # give as another type of text than the columns.
    rows = table.scanner(columns=columns)
    found = [batch.filter(may_be(batch, changes, step)) for batch in rows.to_batches()]
    return pa.Table.from_batches(found, rows.projected_schema)


def misplaced(versions: pa.Table, step: Following) -> dict[str, object] | None:
    """A key with several rows at one place, or one without a place: a person's; None without one.
    The key's columns.
    """
    keys = versions.select(step.keys)
    for name in (*placing(step), *({BEGINS} & {*versions.column_names})):
        if versions[name].null_count:
            return _first(keys.filter(pc.is_null(versions[name])))
    several = versions.group_by(list(step.row_key)).aggregate([([], "count_all")])
    several = several.filter(pc.greater(several["count_all"], 1))
    return _first(several.select(step.keys)) if several.num_rows else None


def _first(rows: pa.Table) -> dict[str, object]:
    found: dict[str, object] = rows.slice(0, 1).to_pylist()[0]
    return found


def may_be(batch: pa.RecordBatch, changes: pa.Table, step: Following) -> pa.Array:
    """boolean: whether each column of the key has a value of one of the changes."""
    of_keys = (
        pc.is_in(batch[key], value_set=pc.unique(changes[key]).cast(batch[key].type))
        for key in step.keys
    )
    return reduce(pc.and_, of_keys)
