"""Lacked: the fields that a row's own change may lack. Without Spark.

A field has the value of the newest change that sets it, of those up to the row's place. What stood
in the table stays, unless a change of this batch is the setter, and no copy of what was: so a
person's correction stays too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.steps.keyed.places import Flags, Numbers, found_in, from_others, ranks
from spark_jobs.values.own_columns import CONTENTS, SET, SET_CONTENTS, placed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spark_jobs.spec.steps.following import Following
    from spark_jobs.steps.keyed.places import Places


class Setters(NamedTuple):
    """First one for each row, which sets all fields if it is a delete; then the entries of SET."""

    row: Numbers
    """Of each the row that has it."""
    field: Numbers
    """Of each the number of its field; -1 of a row."""
    at: Numbers
    """Of each the rank of its position."""
    change: Numbers
    """Of each a number: copies have the same. -1 where nobody knows the contents."""
    positions: pa.Array
    """Of each the value in SET."""
    contents: pa.Array
    """Of each the value in SET_CONTENTS; null where nobody knows it."""

    def of(self, field: int, gone: Flags) -> Numbers:
        """Those that set the field."""
        entries = np.flatnonzero(self.field == field)
        return np.concatenate([np.flatnonzero(gone), entries[~gone[self.row[entries]]]])


def setters(of: Places, fields: Sequence[str], step: Following) -> Setters:
    """The setters of the rows at these places."""
    names, number = placed(step.order_by, of.rows.column_names), of.rows.num_rows
    owner, field, items = _entries(of.rows, SET, fields)
    own = of.rows.select(names)
    said = pa.table([items.field(name) for name in names], [*names]).cast(own.schema)
    positions = pa.concat_tables([own, said])
    at = ranks(positions, names)
    row = np.concatenate([np.arange(number), owner])
    field = np.concatenate([np.full(number, -1), field])
    contents = _contents(of, row, field, at, fields)
    change = ranks(positions.append_column(CONTENTS, contents), (*step.order_by, CONTENTS))
    change += of.key[row] * (int(change.max(initial=0)) + 1)
    change[contents.is_null().to_numpy(zero_copy_only=False)] = -1
    values = positions.to_struct_array().combine_chunks()
    return Setters(row, field, at, change, values, contents)


def _entries(
    rows: pa.Table, column: str, fields: Sequence[str]
) -> tuple[Numbers, Numbers, pa.Array]:
    """Of each entry in this column's maps the row, the number of its field, and the value."""
    maps = rows[column].combine_chunks()
    offsets = maps.offsets.to_numpy()
    row = np.repeat(np.arange(len(maps)), np.diff(offsets))
    keys, items = (each.slice(offsets[0], len(row)) for each in (maps.keys, maps.items))
    number = pc.index_in(keys, value_set=pa.array(fields, keys.type))
    return row, number.fill_null(-1).to_numpy().astype(np.int64), items


def _contents(
    of: Places, row: Numbers, field: Numbers, at: Numbers, fields: Sequence[str]
) -> pa.Array:
    """Of each setter. What a row's own change set has the row's; of others SET_CONTENTS says them,
    where the row is of no older Sluice.
    """
    own = of.rows[CONTENTS].combine_chunks()
    itself = np.where(at == at[row], row, -1)
    found = own.take(pa.array(np.maximum(itself, 0), mask=itself < 0))
    if SET_CONTENTS not in of.rows.column_names:
        return found
    whose, of_field, said = _entries(of.rows, SET_CONTENTS, fields)
    number = len(fields) + 1  # of a row the field is -1, which no entry has
    at_entry = found_in(whose * number + of_field + 1, row * number + field + 1)
    told = said.take(pa.array(np.maximum(at_entry, 0), mask=at_entry < 0))
    return pc.coalesce(told, found)


class Lacked(NamedTuple):
    """Of each place."""

    columns: Mapping[str, pa.Array]
    """`from_others`: what the row there has of them."""
    new: Flags
    """Whether a change sets a field, and is no copy of what set it in the table."""
    copied: Flags
    """Whether a change there sets a field, and is a copy of that."""


def lacked(of: Places, columns: Iterable[str], step: Following) -> Lacked:
    """`columns`: the changes' columns."""
    every = from_others(step, columns)
    fields = [name for name in every if name not in {SET, SET_CONTENTS}]
    new, copied = (np.zeros(len(of.kept), dtype=np.bool_) for _ in range(2))
    found, sets = dict[str, pa.Array](), list[Numbers]()
    if not every:
        return Lacked(found, new, copied)
    told = setters(of, fields, step)
    lives = ~of.gone[of.kept]
    for number, name in enumerate(fields):
        setter = _newest(of, told, told.of(number, of.gone))
        row = np.where(setter < 0, -1, told.row[setter])
        source = _source(of, told, told.of(number, of.gone), setter)
        here = (row >= 0) & (of.at[row] == np.arange(len(row)))
        comes = lives & (source >= 0) & ~of.old[source]
        new |= comes
        copied |= lives & here & ~of.old[row] & of.old[source]
        chosen = np.where(of.both & ~comes, of.there, source)
        chosen = np.where(lives, chosen, -1)
        taken = pa.array(np.maximum(chosen, 0), mask=chosen < 0)
        found[name] = of.rows[name].take(taken).combine_chunks()
        sets.append(np.where(here, setter, -1))
    for name, values in ((SET, told.positions), (SET_CONTENTS, told.contents)):
        if name in every:
            found[name] = _by_field(fields, sets, values, of.rows.schema.field(name).type)
    return Lacked(found, new, copied)


def _newest(of: Places, told: Setters, among: Numbers) -> Numbers:
    """Of each place the newest of these setters up to it; -1 without one."""
    positions = int(told.at.max(initial=0)) + 1
    row = told.row[among]
    at = of.key[row] * positions + told.at[among]
    way = np.lexsort((of.old[row], at))  # of two at one position it is the table's
    wanted = of.key[of.kept] * positions + told.at[of.kept]
    last = np.append(among[way], -1)[np.searchsorted(at[way], wanted, side="right") - 1]
    found: Numbers = np.where((last >= 0) & (of.key[told.row[last]] == of.key[of.kept]), last, -1)
    return found


def _source(of: Places, told: Setters, among: Numbers, setter: Numbers) -> Numbers:
    """Of each of these setters the row with its value; of a copy the table's."""
    tables = among[of.old[told.row[among]] & (told.change[among] >= 0)]
    copy = found_in(told.change[tables], np.where(setter < 0, -1, told.change[setter]))
    own = np.where(setter < 0, -1, told.row[setter])
    found: Numbers = np.where(copy < 0, own, np.append(told.row[tables], -1)[copy])
    return found


def _by_field(
    fields: list[str], sets: list[Numbers], values: pa.Array, kind: pa.MapType
) -> pa.MapArray:
    """Of each place a map: field -> the value of its setter there, if that is known."""
    setter = np.stack(sets, axis=1)
    known = values.is_valid().to_numpy(zero_copy_only=False)
    has = (setter >= 0) & known[setter]
    offsets = np.append(0, np.cumsum(has.sum(axis=1)))
    names = pa.array(fields, kind.key_type).take(pa.array(np.nonzero(has)[1]))
    items = values.take(pa.array(setter[has])).cast(kind.item_type)
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), names, items).cast(kind)
