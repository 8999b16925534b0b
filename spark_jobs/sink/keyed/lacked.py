"""Lacked: what a version has of the fields that its own change lacks: the values of the version
before it. Without Spark.

As in a fold, a field has the value of the newest change that sets it, of those up to the version's
place. What stood in the table stays, unless a change of this batch is the setter: so a person's
correction stays too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from spark_jobs.sink.keyed.setters import Flags, Numbers, Told, by_field, setters
from spark_jobs.spec.steps.history import SPAN
from spark_jobs.values.own_columns import OF_A_KEY, SET, WHOLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.spec.steps.following import Following


class Carried(NamedTuple):
    """Of each version."""

    columns: Mapping[str, pa.Array]
    """`from_others`."""
    changed: Flags
    """Whether the table has it with another value."""

    def put(self, rows: pa.Table, of: Flags) -> pa.Table:
        """The rows of these versions with the columns."""
        for name, column in self.columns.items():
            values = column.filter(pa.array(of))
            if name in rows.column_names:
                rows = rows.set_column(rows.column_names.index(name), name, values)
            else:
                rows = rows.append_column(name, values)
        return rows


def from_others(step: Following, columns: Iterable[str]) -> tuple[str, ...]:
    """These of the columns that may come from another change, and SET; none where each change says
    all of its row.
    """
    if step.highest_decides:
        return ()
    own_ones = {*step.placed, *OF_A_KEY, *SPAN, WHOLE}
    return (*(name for name in columns if name not in own_ones), SET)


def carried(
    told: Told, kept: Numbers, stands: Numbers, fields: Iterable[str], step: Following
) -> Carried:
    """`kept`: of each version the change at its place; `stands`: the row that the table has or
    gets, which is the table's own where `kept` is a copy of it.
    """
    stays, changed = told.old[stands], np.zeros(len(kept), dtype=np.bool_)
    row_of = _rows_of(told)
    positions = int(told.at.max(initial=0)) + 1
    wanted = told.key[kept] * positions + told.at[kept]
    columns, sets = dict[str, pa.Array](), list[tuple[str, Numbers, Numbers]]()
    for name in (each for each in fields if each != SET):
        row, place = (np.append(each, 0) for each in setters(told, name))
        at = told.key[row] * positions + told.at[place]
        at[-1] = -1  # before all: nothing has set it
        way = np.lexsort((told.old[row], at))
        last = way[np.searchsorted(at[way], wanted, side="right") - 1]
        found = (at[last] >= 0) & (told.key[row[last]] == told.key[kept])
        setter = row_of[row[last]]
        new = found & ~told.old[setter]
        changed |= stays & new
        chosen = np.where(stays & ~new, stands, np.where(found, setter, -1))
        mask = pa.array(np.maximum(chosen, 0), mask=chosen < 0)
        columns[name] = told.rows[name].take(mask).combine_chunks()
        here = np.flatnonzero(found & (told.order[row[last]] == told.order[kept]))
        sets.append((name, here, place[last[here]]))
    kind = told.rows.schema.field(SET).type
    columns[SET] = by_field(sets, told.positions(step), kind, len(kept))
    return Carried(columns, changed)


def _rows_of(told: Told) -> Numbers:
    """Each row; of a copy, the table's: its values may be a person's corrections."""
    every = np.arange(len(told.old))
    alike = np.stack([told.key, told.change[every], told.gone])
    _, same = np.unique(alike, axis=1, return_inverse=True)
    found = np.full(len(every) + 1, -1)
    found[same[told.old]] = every[told.old]
    return np.where(found[same] < 0, every, found[same])
