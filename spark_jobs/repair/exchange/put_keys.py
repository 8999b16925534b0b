"""Put keys: the exchange in a table that follows a key: a merge of what each place gets.

A row's place is `row_key`: of a Latest the key, of a History the key and `order_by`. Drains go on
between the comparison and the exchange, and the highest position at a place stays. So each place is
looked at by itself: it has the row that is to go, and gets the one that comes; or a drain has
brought a newer one, which would be there with either of them, and stays, where the highest position
alone decides; or it has what comes; or nobody knows its row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from spark_jobs.errors import StagingStale, SwapRefused
from spark_jobs.repair.exchange.commit import Base, Prepared, Rows, refuse_features
from spark_jobs.repair.exchange.staging import texts
from spark_jobs.sink.keyed.by_place import put, rows_of
from spark_jobs.spec.analysis.ranged import BY_KEY
from spark_jobs.steps.keyed.merge import merged as merged_rows
from spark_jobs.steps.keyed.places import Flags, Numbers, known_of, ranks
from spark_jobs.table import history
from spark_jobs.table.port import Table
from spark_jobs.table.tables import own_table
from spark_jobs.values.own_columns import WHOLE, placed
from spark_jobs.values.spans import EVER

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.repair.exchange.preconditions import Claim
    from spark_jobs.spec.steps.following import Following


def merged(kept: Table, claim: Claim, going: Rows, coming: Rows, step: Following) -> Prepared:
    """Hold both sides against what the table has of their keys, and make the merge ready.

    Raises StagingStale if the table has neither what was compared nor newer rows, SwapRefused if it
    has a place twice, or a feature with which a merge was not tried.
    """
    path, since = kept.path, claim.compared_at
    table = kept.open()
    # All rows of a version: any commit that changes one touches it.
    base = Base(kept, table.version, BY_KEY, EVER)
    if not claim.manifest.differing:
        return Prepared(base, None)
    refuse_features(kept, merged=True)
    columns = kept.arrow(table.version)
    sides = Sides(going(columns), coming(columns))
    wanted = pa.concat_tables([side.select(step.keys) for side in sides])
    now = rows_of(table, wanted, step, columns.names).cast(columns)
    made = merging(now, sides, step)
    if made.twice:
        raise SwapRefused.places_doubled(table=path, rows=made.twice)
    if made.odd:
        raise StagingStale.places_changed(table=path, version=since, places=made.odd)
    if made.lowers and (left := left_out(path, since, step)):
        raise StagingStale.changes_left_out(table=path, version=since, changes=left)
    places = put(made.rows, step)
    return Prepared(base, lambda opened, said: opened.merge(places, said))


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
    place = ranks(both, step.row_key)
    position = ranks(both, placed(step.order_by, both.column_names))
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
    # A row that goes has nulls in columns in which no row of the table may have one.
    every = every.cast(pa.schema([field.with_nullable(True) for field in every.schema]))
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
    return merged_rows(known, came.drop_columns([*step.spans]), step).rows
