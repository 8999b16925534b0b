"""Setters: which changes say which fields, and where they stand among the others. Without Spark.

A change has its position in SET for each field that it says. A row of the table has the position of
the change that set it, and in SET_CONTENTS the contents of that change. A delete sets all fields to
null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.steps.keyed.ranks import Flags, Numbers, found_in, ranks
from spark_jobs.values.own_columns import CONTENTS, SET, SET_CONTENTS, placed

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    """Those of the rows of these places."""
    names, number = placed(step.order_by), of.rows.num_rows
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
