"""Fold: the row of each key from partial changes. Without Spark.

A field has the value of the newest change that sets it; a delete sets all of them to null. So a row
is a pure function of the changes of its key, and the batches and orders in which they come make no
difference. A copy of the change that set a field writes its place alone: the field's value may be a
person's correction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.sink.keyed.setters import (
    Flags,
    Numbers,
    Told,
    are_copies,
    by_field,
    joined,
    setters,
    told_by,
)
from spark_jobs.values.own_columns import CONTENTS, OF_A_KEY, PLACE, SET, SET_CONTENTS, placed

if TYPE_CHECKING:
    from spark_jobs.spec import Latest


class Folded(NamedTuple):
    """What the table must get: whole rows, of the keys whose row differs from the table's."""

    rows: pa.Table
    fates: Fates


class _Field(NamedTuple):
    """For each touched key; -1 for none."""

    setter: Numbers
    """The place of the newest change that sets the field."""
    row: Numbers
    """Who says its value."""
    new: Flags
    """Whether a change of the batch is that setter."""
    copied: Flags
    """Whether it is a copy there of what set the field in the table."""

    @property
    def has(self) -> Numbers:
        """The keys for which the field is set."""
        return np.flatnonzero(self.setter >= 0)


class _Ends(NamedTuple):
    """What becomes of the row of each touched key. At most one of the last three is true."""

    copy: Flags
    """The newest change is a copy of what the table has."""
    decides: Flags
    """It is another one, and is the row."""
    filled: Flags
    """Else: an older change says what no newer one did."""
    moved: Flags
    """Else: copies bring their places alone."""

    @property
    def written(self) -> Flags:
        return self.decides | self.filled | self.moved


def fold(known: pa.Table, changes: pa.Table, step: Latest) -> Folded:
    """The rows of the keys of these changes. `known` is what the table has of them, and perhaps of
    others; both have the table's columns.
    """
    if not changes.num_rows:
        return Folded(changes, Fates())
    told = told_by(joined(known, changes), known.num_rows, step)
    touched = np.unique(told.key[~told.old])
    every = np.arange(len(told.old))
    newest = every[_last(told, every, every)[touched]]
    there = _of_table(told, every, every)[touched]
    own_ones = {*step.keys, *placed(step.order_by), *OF_A_KEY}
    names = [name for name in told.rows.column_names if name not in own_ones]
    fields = {name: _field(told, name, touched, newest, there) for name in names}

    ends = _ends(told, newest, there, [*fields.values()])
    rows = told.rows.take(pa.array(np.where(ends.copy, there, newest)))
    put = {name: told.rows[name].take(pa.array(newest)) for name in (*PLACE, CONTENTS)}
    for name, field in fields.items():
        put[name] = told.rows[name].take(pa.array(np.maximum(field.row, 0), mask=field.row < 0))
    sets = [
        (name, has, field.setter[has]) for name, field in fields.items() for has in (field.has,)
    ]
    contents = told.setters[CONTENTS].combine_chunks()
    for name, of_setters in ((SET, told.positions(step)), (SET_CONTENTS, contents)):
        put[name] = by_field(sets, of_setters, rows.schema.field(name).type, len(touched))
    for name, values in put.items():
        rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), values)
    fates = _fates(told, newest, there, ends)
    return Folded(rows.filter(pa.array(ends.written)), fates)


def _field(told: Told, name: str, touched: Numbers, newest: Numbers, there: Numbers) -> _Field:
    row, place = setters(told, name)
    last = _last(told, row, place)[touched]
    has = last >= 0
    setter, chosen = (np.full(len(touched), -1) for _ in range(2))
    setter[has], chosen[has] = place[last[has]], row[last[has]]
    was = _of_table(told, row, place)[touched]
    new = has & ~told.old[chosen]
    copied = new & (was >= 0) & are_copies(told, setter, was)
    copied &= told.gone[newest] == told.gone[there]  # else a delete comes, or what is behind one
    unset = ~has & ~told.gone[there]  # a person may have written there
    return _Field(setter, np.where(copied | unset, there, chosen), new, copied)


def _of_table(told: Told, row: Numbers, place: Numbers) -> Numbers:
    """For each key the place of the table's own among these, -1 if it has none."""
    found = np.full(int(told.key.max(initial=-1)) + 1, -1)
    found[told.key[row[told.old[row]]]] = place[told.old[row]]
    return found


def _last(told: Told, row: Numbers, place: Numbers) -> Numbers:
    """For each key the index of its newest among these, -1 if it has none. Of two at one position
    it is the table's.
    """
    found = np.full(int(told.key.max(initial=-1)) + 1, -1)
    way = np.lexsort((told.old[row], told.at[place], told.key[row]))
    found[told.key[row[way]]] = way  # the last one of a key stays
    return found


def _ends(told: Told, newest: Numbers, there: Numbers, fields: list[_Field]) -> _Ends:
    nothing: Flags = np.zeros(len(newest), dtype=np.bool_)
    new, both = ~told.old[newest], (there >= 0) & (told.gone[newest] == told.gone[there])
    by_newest = [field.setter == newest for field in fields]
    others = [field.new & ~field.copied for field in fields]
    again = np.logical_or.reduce([nothing, *by_newest])
    for mine, other in zip(by_newest, others, strict=True):
        again &= ~(mine & other)
    copy = new & both & (again | are_copies(told, newest, there))
    decides = new & ~copy
    filled = ~decides & np.logical_or.reduce([nothing, *others])
    written = new | np.logical_or.reduce([nothing, *(field.new for field in fields)])
    return _Ends(copy, decides, filled, written & ~decides & ~filled)


def _fates(told: Told, newest: Numbers, there: Numbers, ends: _Ends) -> Fates:
    by_key = np.full(int(told.key.max(initial=-1)) + 1, -1)
    by_key[told.key[newest]] = newest
    had, gone = (there >= 0) & ~told.gone[there], told.gone[newest]
    others = np.flatnonzero(~told.old)
    others = others[by_key[told.key[others]] != others]
    last = by_key[told.key[others]]
    copies = int((are_copies(told, others, last) & (told.gone[others] == told.gone[last])).sum())
    filled = int(ends.filled.sum())  # by an older change, which counts for it
    older = int((ends.moved & ~ends.copy).sum())  # likewise by a copy of an older change
    return Fates(
        inserted=int((ends.decides & ~gone & ~had).sum()),
        updated=int((ends.decides & ~gone & had).sum()) + filled,
        deleted=int((ends.decides & gone & had).sum()),
        absent=int((ends.decides & gone & ~had).sum()),
        superseded=len(others) - copies - filled - older,
        duplicates=copies + int(ends.copy.sum()) + older,
        moved=int(ends.moved.sum()),
    )
