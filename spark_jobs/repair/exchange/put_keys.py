"""Put keys: the exchange in a table that follows a key: delta-rs merges what each place gets.

A row's place is `row_key`: of a Latest the key, of a History the key and `order_by`. Drains go on
between the comparison and the exchange, and the highest position at a place stays. So each place is
looked at by itself: it has the row that is to go, and gets the one that comes; or a drain has
brought a newer one, which would be there with either of them, and stays, where the highest position
alone decides; or it has what comes; or nobody knows its row.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.analysis.ranged import BY_KEY
from spark_jobs.errors import StagingStale, SwapRefused
from spark_jobs.repair.exchange.base import Base, Rows
from spark_jobs.repair.exchange.commit import Prepared, refuse_features
from spark_jobs.repair.exchange.staging import arrow_schema, texts
from spark_jobs.sink.keyed.lacked import from_others
from spark_jobs.sink.keyed.setters import Flags, Numbers, ranks
from spark_jobs.sink.keyed.versions import BEGINS, chain, known_of
from spark_jobs.sink.keyed.versions_read import may_be
from spark_jobs.spans.span import EVER
from spark_jobs.table import history
from spark_jobs.table.delta import door
from spark_jobs.table.tables import own_table
from spark_jobs.values.own_columns import WHOLE, placed

if TYPE_CHECKING:
    import deltalake
    from upath import UPath

    from spark_jobs.repair.exchange.preconditions import Claim
    from spark_jobs.spec.steps.following import Following


def merged(path: UPath, claim: Claim, going: Rows, coming: Rows, step: Following) -> Prepared:
    """Hold both sides against what the table has of their keys, and make the merge ready.

    Raises StagingStale if the table has neither what was compared nor newer rows, SwapRefused if it
    has a place twice, or a feature with which a merge was not tried.
    """
    table, since = door.open_table(path), claim.compared_at
    # All rows of a version: any commit that changes one touches it.
    base = Base(path, table.version(), BY_KEY, EVER)
    if not claim.manifest.differing:
        return Prepared(base, None)
    refuse_features(table, merged=True)
    columns = arrow_schema(table)
    sides = Sides(going(columns), coming(columns))
    made = merging(rows_of(table, sides, step), sides, step)
    if made.twice:
        raise SwapRefused.places_doubled(table=path, rows=made.twice)
    if made.odd:
        raise StagingStale.places_changed(table=path, version=since, places=made.odd)
    if made.lowers and (left := left_out(path, since, step)):
        raise StagingStale.changes_left_out(table=path, version=since, changes=left)
    return Prepared(base, partial(_merge, made.rows, step))


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
    for entry in history.ours(own_table(table)):
        if entry.version <= since:
            return found
        fates = entry.said.get("fates", {})
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


class Sides(NamedTuple):
    """Rows with the table's columns: at most one a place in each."""

    going: pa.Table
    coming: pa.Table


class Merging(NamedTuple):
    """What the table must get."""

    rows: pa.Table
    """To merge by place: the table's columns, and WHOLE boolean. true: a whole row; false: only the
    columns of SPAN; null: the row at this place goes.
    """
    odd: int
    """Places that have none of these. Then nothing may be written."""
    twice: int
    """Rows where the table has another one at their place. Then likewise."""
    lowers: bool
    """Whether a row gives way to an older one, or to none: what drains have left out because of it
    is then missing.
    """


def merging(now: pa.Table, sides: Sides, step: Following) -> Merging:
    """`now`: all that the table has of the keys of both sides."""
    both = pa.concat_tables([now, *sides])
    place, position = ranks(both, step.row_key), ranks(both, placed(step.order_by))
    _, same = np.unique(texts(both.drop_columns([*step.spans])), return_inverse=True)
    known, ends = now.num_rows, now.num_rows + sides.going.num_rows
    parts = (slice(0, known), slice(known, ends), slice(ends, None))
    here, going, coming = (_at(place, part) for part in parts)

    def of(values: Numbers, rows: Numbers) -> Numbers:
        return np.where(rows >= 0, values[rows], -1)

    differs = of(same, going) != of(same, coming)
    put = differs & (of(same, here) == of(same, going))
    either = np.maximum(of(position, going), of(position, coming))
    there = of(same, here) == of(same, coming)
    odd = differs & ~put & ~there
    if step.highest_decides:
        odd &= of(position, here) <= either
    twice = known - len(np.unique(place[:known]))
    lowers = put & (of(position, coming) < of(position, going))
    if not step.highest_decides:
        lowers = put & (going >= 0)
    stays = np.setdiff1d(np.arange(known), here[put])
    came = both.take(coming[put & (coming >= 0)])
    gone = both.take(going[put & (coming < 0)]).select(step.row_key)
    rows = _whole(both.take(stays), came, step)
    gone = gone.append_column(WHOLE, pa.nulls(gone.num_rows, pa.bool_()))
    every = pa.concat_tables([rows, gone], promote_options="permissive")
    return Merging(every, int(odd.sum()), twice, bool(lowers.any()))


def _at(place: Numbers, part: slice) -> Numbers:
    """Place -> the number of a row of this part there; -1 without one."""
    found = np.full(place.max(initial=-1) + 1, -1)
    found[place[part]] = np.arange(len(place))[part]
    return found


def _whole(stays: pa.Table, came: pa.Table, step: Following) -> pa.Table:
    """What came, and of a History the spans of what stays that are others now; with WHOLE."""
    if not step.spans:
        every: Flags = np.ones(came.num_rows, dtype=np.bool_)
        return came.append_column(WHOLE, pa.array(every))
    known = stays.select(known_of(step, came.column_names))
    known = known.append_column(BEGINS, stays[step.time])
    return chain(known, came.drop_columns([*step.spans]), step).rows
