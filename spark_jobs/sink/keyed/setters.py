"""Setters: which of the changes of a key say a field, and where each stands among them. Without
Spark.

A change has its position in SET for each field that it says, and a row of the table the position of
the change that set it, and in SET_CONTENTS the contents of that change. A delete sets all fields to
null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.values.own_columns import CONTENTS, DELETED, SET, SET_CONTENTS, placed

if TYPE_CHECKING:
    from spark_jobs.spec.steps.following import Following

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


class Told(NamedTuple):
    """The rows of the table, then the changes; and what their SET says."""

    rows: pa.Table
    old: Flags
    """Whether each is of the table."""
    gone: Flags
    key: Numbers
    order: Numbers
    """By order_by alone."""
    setters: pa.Table
    """The positions and CONTENTS of the rows; then those of SET, with null for unknown contents."""
    at: Numbers
    """The ranks of their positions."""
    change: Numbers
    """A number for each: copies have the same."""
    owner: Numbers
    """Of each that is of SET, the row."""
    field: np.ndarray[Any, np.dtype[np.object_]]
    """Likewise the field's name."""

    def positions(self, step: Following) -> pa.Array:
        """The values of SET, by the places of `setters`."""
        of_them = self.setters.select(placed(step.order_by)).to_struct_array()
        return of_them.combine_chunks()


def joined(known: pa.Table, changes: pa.Table) -> pa.Table:
    """The rows of the table, then the changes, with their columns. Any of them may be null."""
    schema = pa.schema([field.with_nullable(True) for field in changes.schema])
    parts = [known.select(schema.names).cast(schema), changes.cast(schema)]
    return pa.concat_tables(parts).combine_chunks()


def told_by(rows: pa.Table, known: int, step: Following) -> Told:
    """`rows`: as `joined` has them; so many are the table's."""
    names = placed(step.order_by)
    owner, fields, items = _entries(rows[SET].combine_chunks())
    entries = pa.table([items.field(name) for name in names], [*names])
    positions = pa.concat_tables([rows.select(names), entries.cast(rows.select(names).schema)])
    at = ranks(positions, names)
    contents = _contents(rows, owner, fields, at)
    all_ = positions.append_column(CONTENTS, pa.array(contents, pa.int64()))
    return Told(
        rows,
        np.arange(len(rows)) < known,
        rows[DELETED].to_numpy(),
        ranks(rows, step.keys),
        ranks(rows, step.order_by),
        all_,
        at,
        ranks(all_, (*step.order_by, CONTENTS)),
        owner,
        np.array(fields.to_pylist(), dtype=object),
    )


def _entries(maps: pa.MapArray) -> tuple[Numbers, pa.Array, pa.Array]:
    """Of each entry of these: whose it is, its key and its value."""
    offsets = maps.offsets.to_numpy()
    owner = np.repeat(np.arange(len(maps)), np.diff(offsets))
    keys, items = (each.slice(offsets[0], len(owner)) for each in (maps.keys, maps.items))
    return owner, keys, items


def _contents(rows: pa.Table, owner: Numbers, fields: pa.Array, at: Numbers) -> list[int | None]:
    """CONTENTS of the rows, then those of SET. What a row's own change set has the row's; of others
    SET_CONTENTS says them, where the row is of no older Sluice.
    """
    own: list[int | None] = rows[CONTENTS].to_pylist()
    known: dict[tuple[int, str], int] = {}
    if SET_CONTENTS in rows.column_names:
        whose, of, said = (each.tolist() for each in _entries(rows[SET_CONTENTS].combine_chunks()))
        known = dict(zip(zip(whose, of, strict=True), said, strict=True))
    itself = at[len(rows) :] == at[owner]
    default = (own[row] if is_own else None for row, is_own in zip(owner, itself, strict=True))
    entries = zip(owner.tolist(), fields.to_pylist(), strict=True)
    return own + [known.get(entry, other) for entry, other in zip(entries, default, strict=True)]


def are_copies(told: Told, one: Numbers, other: Numbers) -> Flags:
    """Whether these, which are changes or of SET, are copies of each other."""
    known = told.setters[CONTENTS].is_valid().to_numpy()
    copies: Flags = (told.change[one] == told.change[other]) & known[one]
    return copies


def setters(told: Told, name: str) -> tuple[Numbers, Numbers]:
    """The rows that set this field, and the places of their positions."""
    by_itself = np.flatnonzero(told.gone)
    entries = np.flatnonzero(told.field == name)
    entries = entries[~told.gone[told.owner[entries]]]
    places = np.concatenate([by_itself, len(told.old) + entries])
    return np.concatenate([by_itself, told.owner[entries]]), places


def by_field(
    sets: list[tuple[str, Numbers, Numbers]], values: pa.Array, kind: pa.MapType, rows: int
) -> pa.Array:
    """For each of so many rows a map: field -> what `values` has at its setter's place, if that is
    known. `sets`: of each field by name, which rows have one, and the places.
    """
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    known = [(name, *(each[valid[places]] for each in (has, places))) for name, has, places in sets]
    none = np.zeros(0, dtype=np.int64)
    row = np.concatenate([none, *(has for _, has, _ in known)])
    place = np.concatenate([none, *(places for _, _, places in known)])
    name = np.repeat(np.arange(len(known)), [len(has) for _, has, _ in known])
    way = np.argsort(row, kind="stable")
    names = pa.array([name for name, _, _ in known], kind.key_type).take(pa.array(name[way]))
    items = values.take(pa.array(place[way])).cast(kind.item_type)
    offsets = pa.array(np.searchsorted(row[way], np.arange(rows + 1)), pa.int32())
    return pa.MapArray.from_arrays(offsets, names, items).cast(kind)


def ranks(table: pa.Table, columns: Iterable[str]) -> Numbers:
    """A number for each row from 0 on: equal for equal values of these columns, and in their
    order.
    """
    found = np.zeros(table.num_rows, dtype=np.int64)
    for column in columns:
        of = pc.rank(table[column], sort_keys="ascending", tiebreaker="dense").to_numpy()
        found = found * (int(of.max(initial=0)) + 1) + of.astype(np.int64)
        _, found = np.unique(found, return_inverse=True)
    return found
