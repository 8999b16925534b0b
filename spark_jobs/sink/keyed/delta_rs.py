"""Delta-rs: what the driver reads of the keys of some rows, and writes at their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.spec.steps.history import CURRENT
from spark_jobs.steps.keyed.merge import kept_anew
from spark_jobs.steps.keyed.places import ranks
from spark_jobs.table.delta import door
from spark_jobs.values.own_columns import DELETED, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    import deltalake

    from spark_jobs.spec.steps.following import Following


def put(
    rows: pa.Table,
    step: Following,
    table: deltalake.DeltaTable,
    said: deltalake.CommitProperties,
    *,
    newest_only: bool = False,
) -> None:
    """Commit what places get: the rows where WHOLE is true; where it is false `kept_anew` alone;
    where it is null the row there goes.
    """
    if not rows.num_rows:  # a merge of nothing commits nothing
        parts = table.metadata().partition_columns
        table.create_write_transaction([], "append", table.schema(), parts, commit_properties=said)
        return
    same = " AND ".join(f'old."{name}" = new."{name}"' for name in step.row_key)
    if newest_only:  # so no file of what has ended is written anew
        same += f' AND (old."{CURRENT}" OR old."{DELETED}")'
    merger = table.merge(rows, same, source_alias="new", target_alias="old", commit_properties=said)
    if rows[WHOLE].null_count:
        merger = merger.when_matched_delete(f'new."{WHOLE}" IS NULL')
    columns = [name for name in rows.column_names if name != WHOLE]
    anew, all_ = (
        {f'"{name}"': f'new."{name}"' for name in names}
        for names in (kept_anew(step, columns), columns)
    )
    merger = merger.when_matched_update(anew, f'NOT new."{WHOLE}"')
    merger = merger.when_matched_update(all_, f'new."{WHOLE}"')
    merger.when_not_matched_insert(all_, f'new."{WHOLE}"').execute()


def rows_of(
    table: deltalake.DeltaTable, wanted: pa.Table, step: Following, columns: Iterable[str]
) -> pa.Table:
    """All that the table has of the keys of these rows: a person may have changed any of it."""
    # A filter by keys would be held against the statistics of the files too, which delta-rs may
    # give as another type of text than the columns.
    scanned = door.dataset(table).scanner(columns=[*columns])
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
