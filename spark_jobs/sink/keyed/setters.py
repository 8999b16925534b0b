"""Setters: which of the changes of a key say a field, and where each stands among them. Without
Spark.

A change has its position in SET for each field that it says, and a row of the table the position of
the change that set it; a delete sets all fields to null.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.values.own_columns import DELETED, SET, placed

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
    positions: pa.Table
    """Of the rows; then those of SET."""
    at: Numbers
    """Their ranks."""
    owner: Numbers
    """Of each that is of SET, the row."""
    field: np.ndarray[Any, np.dtype[np.object_]]
    """Likewise the field's name."""


def joined(known: pa.Table, changes: pa.Table) -> pa.Table:
    """The rows of the table, then the changes, with their columns. Any of them may be null."""
    schema = pa.schema([field.with_nullable(True) for field in changes.schema])
    parts = [known.select(schema.names).cast(schema), changes.cast(schema)]
    return pa.concat_tables(parts).combine_chunks()


def told_by(rows: pa.Table, known: int, step: Following) -> Told:
    """`rows`: as `joined` has them; so many are the table's."""
    of_set = rows[SET].combine_chunks()
    offsets, names = of_set.offsets.to_numpy(), placed(step.order_by)
    owner = np.repeat(np.arange(len(rows)), np.diff(offsets))
    items, fields = (each.slice(offsets[0], len(owner)) for each in (of_set.items, of_set.keys))
    entries = pa.table([items.field(name) for name in names], [*names])
    positions = pa.concat_tables([rows.select(names), entries.cast(rows.select(names).schema)])
    return Told(
        rows,
        np.arange(len(rows)) < known,
        rows[DELETED].to_numpy(),
        ranks(rows, step.keys),
        ranks(rows, step.order_by),
        positions,
        ranks(positions, names),
        owner,
        np.array(fields.to_pylist(), dtype=object),
    )


def setters(told: Told, name: str) -> tuple[Numbers, Numbers]:
    """The rows that set this field, and the places of their positions."""
    by_itself = np.flatnonzero(told.gone)
    entries = np.flatnonzero(told.field == name)
    entries = entries[~told.gone[told.owner[entries]]]
    places = np.concatenate([by_itself, len(told.old) + entries])
    return np.concatenate([by_itself, told.owner[entries]]), places


def set_of(sets: list[tuple[str, Numbers, Numbers]], told: Told, rows: pa.Table) -> pa.Array:
    """SET of the rows: of each field by name, which of them have it, and the places."""
    none = np.zeros(0, dtype=np.int64)
    row = np.concatenate([none, *(has for _, has, _ in sets)])
    place = np.concatenate([none, *(places for _, _, places in sets)])
    name = np.repeat(np.arange(len(sets)), [len(has) for _, has, _ in sets])
    way = np.argsort(row, kind="stable")
    kind = rows.schema.field(SET).type
    names = pa.array([name for name, _, _ in sets], kind.key_type).take(pa.array(name[way]))
    items = told.positions.take(pa.array(place[way])).to_struct_array().combine_chunks()
    offsets = pa.array(np.searchsorted(row[way], np.arange(len(rows) + 1)), pa.int32())
    return pa.MapArray.from_arrays(offsets, names, items.cast(kind.item_type)).cast(kind)


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
