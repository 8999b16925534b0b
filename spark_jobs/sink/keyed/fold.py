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
from spark_jobs.sink.keyed.versions import Flags, Numbers, ranks
from spark_jobs.values.own_columns import CONTENTS, DELETED, OF_A_KEY, SET, placed

if TYPE_CHECKING:
    from spark_jobs.spec import Latest


class Folded(NamedTuple):
    """What the table must get: whole rows, of the keys whose row differs from the table's."""

    rows: pa.Table
    fates: Fates


class _Told(NamedTuple):
    """The rows of the table, then the changes; and what their SET says."""

    rows: pa.Table
    old: Flags
    """Whether each is of the table."""
    gone: Flags
    key: Numbers
    order: Numbers
    """By order_by alone."""
    positions: pa.Table
    """Of the rows; then those of SET."""
    at: Numbers
    """Their ranks."""
    owner: Numbers
    """Of each that is of SET, the row."""
    field: pa.Array
    """Likewise the field."""


def fold(known: pa.Table, changes: pa.Table, step: Latest) -> Folded:
    """The rows of the keys of these changes. `known` is what the table has of them, and perhaps of
    others; both have the table's columns.
    """
    if not changes.num_rows:
        return Folded(changes, Fates())
    told = _told(known, changes, step)
    touched = np.unique(told.key[~told.old])
    every = np.arange(len(told.old))
    newest = _last(told, every, every)[touched]
    rows, written = told.rows.take(pa.array(newest)), ~told.old[newest]
    there = _there(told, touched)
    moved = written & (there >= 0) & _are_copies(told, newest, there)
    sets = list[tuple[str, Numbers, Numbers]]()
    own_ones = {*step.keys, *placed(step.order_by), *OF_A_KEY}
    for name in (each for each in rows.column_names if each not in own_ones):
        row, place = _setters(told, name)
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
    rows = rows.set_column(at, rows.field(SET), _set(sets, told, rows))
    fates = _fates(told, newest, there, written, moved)
    return Folded(rows.filter(pa.array(written)), fates)


def _there(told: _Told, touched: Numbers) -> Numbers:
    """For each of these keys the index of the table's row, -1 if it has none."""
    found = np.full(int(told.key.max(initial=-1)) + 1, -1)
    found[told.key[told.old]] = np.flatnonzero(told.old)
    return found[touched]


def _are_copies(told: _Told, one: Numbers, other: Numbers) -> Flags:
    contents = told.rows[CONTENTS].to_numpy()
    same = (told.order[one] == told.order[other]) & (contents[one] == contents[other])
    copies: Flags = same & (told.gone[one] == told.gone[other])
    return copies


def _told(known: pa.Table, changes: pa.Table, step: Latest) -> _Told:
    schema = pa.schema([field.with_nullable(True) for field in changes.schema])
    parts = [known.select(schema.names).cast(schema), changes.cast(schema)]
    rows = pa.concat_tables(parts).combine_chunks()
    of_set = rows[SET].combine_chunks()
    offsets, names = of_set.offsets.to_numpy(), placed(step.order_by)
    owner = np.repeat(np.arange(len(rows)), np.diff(offsets))
    items, fields = (each.slice(offsets[0], len(owner)) for each in (of_set.items, of_set.keys))
    entries = pa.table([items.field(name) for name in names], [*names])
    positions = pa.concat_tables([rows.select(names), entries.cast(rows.select(names).schema)])
    return _Told(
        rows,
        np.arange(len(rows)) < len(known),
        rows[DELETED].to_numpy(),
        ranks(rows, step.keys),
        ranks(rows, step.order_by),
        positions,
        ranks(positions, names),
        owner,
        fields,
    )


def _setters(told: _Told, name: str) -> tuple[Numbers, Numbers]:
    """The rows that set this field, and the places of their positions."""
    by_itself = np.flatnonzero(told.gone)
    entries = np.flatnonzero(np.array(told.field.to_pylist(), dtype=object) == name)
    entries = entries[~told.gone[told.owner[entries]]]
    places = np.concatenate([by_itself, len(told.old) + entries])
    return np.concatenate([by_itself, told.owner[entries]]), places


def _last(told: _Told, row: Numbers, place: Numbers) -> Numbers:
    """For each key the index of its newest among these, -1 if it has none. Of two at one position
    it is the table's.
    """
    found = np.full(int(told.key.max(initial=-1)) + 1, -1)
    way = np.lexsort((told.old[row], told.at[place], told.key[row]))
    found[told.key[row[way]]] = way  # the last one of a key stays
    return found


def _set(sets: list[tuple[str, Numbers, Numbers]], told: _Told, rows: pa.Table) -> pa.Array:
    """SET of the rows: of each field by name, which of them have it, and the places."""
    row = np.concatenate([has for _, has, _ in sets])
    place = np.concatenate([places for _, _, places in sets])
    name = np.repeat(np.arange(len(sets)), [len(has) for _, has, _ in sets])
    way = np.argsort(row, kind="stable")
    kind = rows.schema.field(SET).type
    names = pa.array([name for name, _, _ in sets], kind.key_type).take(pa.array(name[way]))
    items = told.positions.take(pa.array(place[way])).to_struct_array().combine_chunks()
    offsets = pa.array(np.searchsorted(row[way], np.arange(len(rows) + 1)), pa.int32())
    return pa.MapArray.from_arrays(offsets, names, items.cast(kind.item_type)).cast(kind)


def _fates(told: _Told, newest: Numbers, there: Numbers, written: Flags, moved: Flags) -> Fates:
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
