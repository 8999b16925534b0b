"""Put keys: the exchange in a table that follows a key: delta-rs merges what each place gets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.analysis.ranged import BY_KEY
from spark_jobs.errors import StagingStale, SwapRefused
from spark_jobs.repair.exchange.base import Base
from spark_jobs.repair.exchange.places import Sides, merging
from spark_jobs.repair.exchange.staging import arrow_schema
from spark_jobs.sink.keyed.lacked import from_others
from spark_jobs.sink.keyed.setters import ranks
from spark_jobs.sink.keyed.versions_read import may_be
from spark_jobs.spans.span import EVER
from spark_jobs.table import history
from spark_jobs.table.delta import door
from spark_jobs.values.own_columns import WHOLE

if TYPE_CHECKING:
    import deltalake
    from upath import UPath

    from spark_jobs.repair.exchange.commit import Write
    from spark_jobs.spec.steps.following import Following


class Compared(NamedTuple):
    """A version of the table, and what it must get."""

    base: Base
    write: Write


def whole(path: UPath, version: int) -> Base:
    """All rows of a version: any commit that changes one touches it."""
    return Base(path, version, BY_KEY, EVER)


def compared(
    table: deltalake.DeltaTable, path: UPath, since: int, sides: Sides, step: Following
) -> Compared:
    """Hold the sides against what the table has of their keys. Raises StagingStale if that is
    neither what was compared at the version `since` nor newer.
    """
    made = merging(rows_of(table, sides, step), sides, step)
    if made.twice:
        raise SwapRefused.places_doubled(table=path, rows=made.twice)
    if made.odd:
        raise StagingStale.places_changed(table=path, version=since, places=made.odd)
    if made.lowers and (left := left_out(path, since, step)):
        raise StagingStale.changes_left_out(table=path, version=since, changes=left)
    return Compared(whole(path, table.version()), partial(_merge, made.rows, step))


def rows_of(table: deltalake.DeltaTable, sides: Sides, step: Following) -> pa.Table:
    """All that the table has of the keys of both sides."""
    columns = arrow_schema(table)
    wanted = pa.concat_tables([side.select(step.keys) for side in sides])
    scanned = door.dataset(table).scanner(columns=columns.names)
    found = [batch.filter(may_be(batch, wanted, step)) for batch in scanned.to_batches()]
    rows = pa.Table.from_batches(found, scanned.projected_schema).cast(columns)
    # Of a key of several columns there are others, which are made of their values.
    keys = ranks(pa.concat_tables([rows.select(step.keys), wanted]), step.keys)
    asked = pa.array(keys[rows.num_rows :])
    return rows.filter(pc.is_in(pa.array(keys[: rows.num_rows]), value_set=asked))


def left_out(table: UPath, since: int, step: Following) -> int:
    """How many changes drains have left out behind this version, at most, because the table had a
    newer row. They are in no row, so nobody knows their keys.
    """
    found = 0
    for entry in history.ours(table):
        if int(entry["version"]) <= since:
            return found
        fates = history.said_by(entry).get("fates", {})
        older = fates.get("superseded", 0) + fates.get("duplicates", 0)
        found += int(fates.get("behind", older) if step.highest_decides else older)
    return max(found, 1)  # the log was cleaned up: nobody knows


def _merge(
    rows: pa.Table, step: Following, table: deltalake.DeltaTable, said: deltalake.CommitProperties
) -> None:
    if not rows.num_rows:  # a merge of nothing commits nothing
        parts = table.metadata().partition_columns
        table.create_write_transaction([], "append", table.schema(), parts, commit_properties=said)
        return
    all_ = {f'"{name}"': f'new."{name}"' for name in rows.column_names if name != WHOLE}
    same = " AND ".join(f'old."{name}" = new."{name}"' for name in step.row_key)
    merger = table.merge(
        rows, same, source_alias="new", target_alias="old", commit_properties=said
    ).when_matched_delete(f'new."{WHOLE}" IS NULL')
    if step.spans:
        anew = (*step.spans, *from_others(step, rows.column_names))
        span = {f'"{name}"': f'new."{name}"' for name in anew}
        merger = merger.when_matched_update(span, f'NOT new."{WHOLE}"')
    merger = merger.when_matched_update(all_, f'new."{WHOLE}"')
    merger.when_not_matched_insert(all_, f'new."{WHOLE}"').execute()
