"""Places: an exchange in a table that follows a key, as a pure function of Arrow tables.

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

from spark_jobs.repair.exchange.row_set import texts
from spark_jobs.steps.keyed.merge import merged
from spark_jobs.steps.keyed.places import known_of
from spark_jobs.steps.keyed.ranks import Flags, Numbers, ranks
from spark_jobs.values.own_columns import WHOLE, placed

if TYPE_CHECKING:
    from spark_jobs.spec.steps.following import Following


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
    return merged(known, came.drop_columns([*step.spans]), step).rows
