"""Fold: the row of each key from partial changes. Without Spark.

A field has the value of the newest change that sets it; a delete sets all of them to null. So a row
is a pure function of the changes of its key, and the batches and orders in which they come make no
difference. For that a change has its position in SET for each field that it says, and the table the
position of the change that set it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.sink.keyed.setters import Flags, Numbers, Told, joined, set_of, setters, told_by
from spark_jobs.values.own_columns import CONTENTS, OF_A_KEY, SET, placed

if TYPE_CHECKING:
    from spark_jobs.spec import Latest


class Folded(NamedTuple):
    """What the table must get: whole rows, of the keys whose row differs from the table's."""

    rows: pa.Table
    fates: Fates


def fold(known: pa.Table, changes: pa.Table, step: Latest) -> Folded:
    """The rows of the keys of these changes. `known` is what the table has of them, and perhaps of
    others; both have the table's columns.
    """
    if not changes.num_rows:
        return Folded(changes, Fates())
    told = told_by(joined(known, changes), known.num_rows, step)
    touched = np.unique(told.key[~told.old])
    every = np.arange(len(told.old))
    newest = _last(told, every, every)[touched]
    rows, written = told.rows.take(pa.array(newest)), ~told.old[newest]
    there = _there(told, touched)
    moved = written & (there >= 0) & _are_copies(told, newest, there)
    sets = list[tuple[str, Numbers, Numbers]]()
    own_ones = {*step.keys, *placed(step.order_by), *OF_A_KEY}
    for name in (each for each in rows.column_names if each not in own_ones):
        row, place = setters(told, name)
        last = _last(told, row, place)[touched]
        has = np.flatnonzero(last >= 0)
        chosen = np.full(len(touched), -1)
        chosen[has] = row[last[has]]
        written[has] |= ~told.old[chosen[has]]
        # Of a copy the place alone: what the row has may be a person's correction.
        chosen = np.where(moved & (chosen == newest), there, chosen)
        values = told.rows[name].take(pa.array(np.maximum(chosen, 0), mask=chosen < 0))
        rows = rows.set_column(rows.column_names.index(name), rows.field(name), values)
        sets.append((name, has, place[last[has]]))
    at = rows.column_names.index(SET)
    rows = rows.set_column(at, rows.field(SET), set_of(sets, told, rows))
    fates = _fates(told, newest, there, written, moved)
    return Folded(rows.filter(pa.array(written)), fates)


def _there(told: Told, touched: Numbers) -> Numbers:
    """For each of these keys the index of the table's row, -1 if it has none."""
    found = np.full(int(told.key.max(initial=-1)) + 1, -1)
    found[told.key[told.old]] = np.flatnonzero(told.old)
    return found[touched]


def _are_copies(told: Told, one: Numbers, other: Numbers) -> Flags:
    contents = told.rows[CONTENTS].to_numpy()
    same = (told.order[one] == told.order[other]) & (contents[one] == contents[other])
    copies: Flags = same & (told.gone[one] == told.gone[other])
    return copies


def _last(told: Told, row: Numbers, place: Numbers) -> Numbers:
    """For each key the index of its newest among these, -1 if it has none. Of two at one position
    it is the table's.
    """
    found = np.full(int(told.key.max(initial=-1)) + 1, -1)
    way = np.lexsort((told.old[row], told.at[place], told.key[row]))
    found[told.key[row[way]]] = way  # the last one of a key stays
    return found


def _fates(told: Told, newest: Numbers, there: Numbers, written: Flags, moved: Flags) -> Fates:
    by_key = np.full(int(told.key.max(initial=-1)) + 1, -1)
    by_key[told.key[newest]] = newest
    had = (there >= 0) & ~told.gone[there]
    decides, gone = ~told.old[newest] & ~moved, told.gone[newest]
    others = np.flatnonzero(~told.old)
    others = others[by_key[told.key[others]] != others]
    copies = int(_are_copies(told, others, by_key[told.key[others]]).sum())
    filled = int((written & told.old[newest]).sum())  # by an older change, which counts for it
    return Fates(
        inserted=int((decides & ~gone & ~had).sum()),
        updated=int((decides & ~gone & had).sum()) + filled,
        deleted=int((decides & gone & had).sum()),
        absent=int((decides & gone & ~had).sum()),
        superseded=len(others) - copies - filled,
        duplicates=copies + int(moved.sum()),
        moved=int(moved.sum()),
    )
