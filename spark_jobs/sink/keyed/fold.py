"""Fold: the row of each key from partial changes, whose nulls say nothing. Without Spark.

A field has the value of the newest change that sets it; a delete sets all of them to null. So a row
is a pure function of the changes of its key, and the batches and orders in which they come make no
difference. For that the table has in SET the position of the change that set each field, and in
SET_CONTENTS the contents of that change. A copy of it writes its place alone: the field's value may
be a person's correction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.sink.keyed.versions import Flags, Numbers, ranks
from spark_jobs.values.own_columns import (
    CONTENTS,
    DELETED,
    OF_A_KEY,
    PLACE,
    SET,
    SET_CONTENTS,
    placed,
)

if TYPE_CHECKING:
    from spark_jobs.spec import Latest


class Folded(NamedTuple):
    """What the table must get: whole rows, of the keys whose row differs from the table's."""

    rows: pa.Table
    fates: Fates


class _Told(NamedTuple):
    """The rows of the table, then the changes; and what the rows' SET says."""

    rows: pa.Table
    old: Flags
    """Whether each is of the table."""
    gone: Flags
    key: Numbers
    setters: pa.Table
    """The positions and CONTENTS of the rows; then those of SET, with null for unknown contents."""
    at: Numbers
    """The ranks of their positions."""
    change: Numbers
    """A number for each: copies have the same."""
    owner: Numbers
    """Of each that is of SET, the row."""
    field: pa.Array
    """Likewise the field."""


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
    told = _told(known, changes, step)
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
    positions = told.setters.select(placed(step.order_by)).to_struct_array()
    for name, values in ((SET, positions), (SET_CONTENTS, told.setters[CONTENTS])):
        put[name] = _by_field(fields, values.combine_chunks(), rows.schema.field(name).type)
    for name, values in put.items():
        rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), values)
    fates = _fates(told, newest, there, ends)
    return Folded(rows.filter(pa.array(ends.written)), fates)


def _field(told: _Told, name: str, touched: Numbers, newest: Numbers, there: Numbers) -> _Field:
    row, place = _setters(told, name)
    last = _last(told, row, place)[touched]
    has = last >= 0
    setter, chosen = (np.full(len(touched), -1) for _ in range(2))
    setter[has], chosen[has] = place[last[has]], row[last[has]]
    was = _of_table(told, row, place)[touched]
    new = has & ~told.old[chosen]
    copied = new & (was >= 0) & _are_copies(told, setter, was)
    copied &= told.gone[newest] == told.gone[there]  # else a delete comes, or what is behind one
    unset = ~has & ~told.gone[there]  # a person may have written there
    return _Field(setter, np.where(copied | unset, there, chosen), new, copied)


def _told(known: pa.Table, changes: pa.Table, step: Latest) -> _Told:
    schema = pa.schema([field.with_nullable(True) for field in changes.schema])
    parts = [known.select(schema.names).cast(schema), changes.cast(schema)]
    rows = pa.concat_tables(parts).combine_chunks()
    names = placed(step.order_by)
    owner, fields, items = _entries(rows[SET].combine_chunks())
    entries = pa.table([items.field(name) for name in names], [*names])
    positions = pa.concat_tables([rows.select(names), entries.cast(rows.select(names).schema)])
    at = ranks(positions, names)
    contents = _contents(rows, owner, fields, at)
    setters = positions.append_column(CONTENTS, pa.array(contents, pa.int64()))
    return _Told(
        rows,
        np.arange(len(rows)) < len(known),
        rows[DELETED].to_numpy(),
        ranks(rows, step.keys),
        setters,
        at,
        ranks(setters, (*step.order_by, CONTENTS)),
        owner,
        fields,
    )


def _entries(maps: pa.MapArray) -> tuple[Numbers, pa.Array, pa.Array]:
    """Of each entry of these: whose it is, its key and its value."""
    offsets = maps.offsets.to_numpy()
    owner = np.repeat(np.arange(len(maps)), np.diff(offsets))
    keys, items = (each.slice(offsets[0], len(owner)) for each in (maps.keys, maps.items))
    return owner, keys, items


def _contents(rows: pa.Table, owner: Numbers, fields: pa.Array, at: Numbers) -> list[int | None]:
    """CONTENTS of the rows, then those of SET. Where a row of an older Sluice does not say them,
    those of what the row's own change set are its own.
    """
    own: list[int | None] = rows[CONTENTS].to_pylist()
    whose, of, said = (each.tolist() for each in _entries(rows[SET_CONTENTS].combine_chunks()))
    known = dict(zip(zip(whose, of, strict=True), said, strict=True))
    itself = at[len(rows) :] == at[owner]
    default = (own[row] if is_own else None for row, is_own in zip(owner, itself, strict=True))
    entries = zip(owner.tolist(), fields.to_pylist(), strict=True)
    return own + [known.get(entry, other) for entry, other in zip(entries, default, strict=True)]


def _are_copies(told: _Told, one: Numbers, other: Numbers) -> Flags:
    """Whether these, which are changes or of SET, are copies of each other."""
    known = told.setters[CONTENTS].is_valid().to_numpy()
    copies: Flags = (told.change[one] == told.change[other]) & known[one]
    return copies


def _setters(told: _Told, name: str) -> tuple[Numbers, Numbers]:
    """The rows that set this field, and the places of their positions."""
    says = ~told.old & told.rows[name].is_valid().to_numpy()
    by_itself = np.flatnonzero(told.gone | says)
    entries = np.flatnonzero(np.array(told.field.to_pylist(), dtype=object) == name)
    entries = entries[~told.gone[told.owner[entries]]]
    places = np.concatenate([by_itself, len(told.old) + entries])
    return np.concatenate([by_itself, told.owner[entries]]), places


def _of_table(told: _Told, row: Numbers, place: Numbers) -> Numbers:
    """For each key the place of the table's own among these, -1 if it has none."""
    found = np.full(int(told.key.max(initial=-1)) + 1, -1)
    found[told.key[row[told.old[row]]]] = place[told.old[row]]
    return found


def _last(told: _Told, row: Numbers, place: Numbers) -> Numbers:
    """For each key the index of its newest among these, -1 if it has none. Of two at one position
    it is the table's.
    """
    found = np.full(int(told.key.max(initial=-1)) + 1, -1)
    way = np.lexsort((told.old[row], told.at[place], told.key[row]))
    found[told.key[row[way]]] = way  # the last one of a key stays
    return found


def _by_field(fields: dict[str, _Field], values: pa.Array, kind: pa.MapType) -> pa.Array:
    """For each touched key a map: field -> what is in `values` of its setter, if that is known."""
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    has = [np.flatnonzero((field.setter >= 0) & valid[field.setter]) for field in fields.values()]
    of = [field.setter[each] for field, each in zip(fields.values(), has, strict=True)]
    row, setter = np.concatenate(has), np.concatenate(of)
    name = np.repeat(np.arange(len(fields)), [len(each) for each in has])
    way = np.argsort(row, kind="stable")
    names = pa.array([*fields], kind.key_type).take(pa.array(name[way]))
    items = values.take(pa.array(setter[way])).cast(kind.item_type)
    keys = len(next(iter(fields.values())).setter)
    offsets = pa.array(np.searchsorted(row[way], np.arange(keys + 1)), pa.int32())
    return pa.MapArray.from_arrays(offsets, names, items).cast(kind)


def _ends(told: _Told, newest: Numbers, there: Numbers, fields: list[_Field]) -> _Ends:
    nothing: Flags = np.zeros(len(newest), dtype=np.bool_)
    new, both = ~told.old[newest], (there >= 0) & (told.gone[newest] == told.gone[there])
    by_newest = [field.setter == newest for field in fields]
    others = [field.new & ~field.copied for field in fields]
    again = np.logical_or.reduce([nothing, *by_newest])
    for mine, other in zip(by_newest, others, strict=True):
        again &= ~(mine & other)
    copy = new & both & (again | _are_copies(told, newest, there))
    decides = new & ~copy
    filled = ~decides & np.logical_or.reduce([nothing, *others])
    written = new | np.logical_or.reduce([nothing, *(field.new for field in fields)])
    return _Ends(copy, decides, filled, written & ~decides & ~filled)


def _fates(told: _Told, newest: Numbers, there: Numbers, ends: _Ends) -> Fates:
    by_key = np.full(int(told.key.max(initial=-1)) + 1, -1)
    by_key[told.key[newest]] = newest
    had, gone = (there >= 0) & ~told.gone[there], told.gone[newest]
    others = np.flatnonzero(~told.old)
    others = others[by_key[told.key[others]] != others]
    last = by_key[told.key[others]]
    copies = int((_are_copies(told, others, last) & (told.gone[others] == told.gone[last])).sum())
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
