"""Put keys: the exchange in a table that follows a key: delta-rs merges what each place gets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from spark_jobs.analysis.ranged import BY_KEY
from spark_jobs.errors import StagingStale, SwapRefused
from spark_jobs.repair.exchange.base import Base
from spark_jobs.repair.exchange.places import Sides, merging
from spark_jobs.repair.exchange.staging import arrow_schema
from spark_jobs.sink.keyed.delta_rs import put, rows_of
from spark_jobs.spans.span import EVER
from spark_jobs.table import history

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
    columns = arrow_schema(table)
    wanted = pa.concat_tables([side.select(step.keys) for side in sides])
    now = rows_of(table, wanted, step, columns.names).cast(columns)
    made = merging(now, sides, step)
    if made.twice:
        raise SwapRefused.places_doubled(table=path, rows=made.twice)
    if made.odd:
        raise StagingStale.places_changed(table=path, version=since, places=made.odd)
    if made.lowers and (left := left_out(path, since, step)):
        raise StagingStale.changes_left_out(table=path, version=since, changes=left)
    return Compared(whole(path, table.version()), partial(put, made.rows, step))


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
