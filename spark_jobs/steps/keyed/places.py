"""Places: the table's rows of some keys and the changes of these keys, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.values.own_columns import (
    CONTENTS,
    DELETED,
    OF_A_KEY,
    SET,
    SET_CONTENTS,
    WHOLE,
    place_in,
    placed,
)

if TYPE_CHECKING:
    from spark_jobs.spec.steps.following import Following

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


def ranks(table: pa.Table, columns: Iterable[str]) -> Numbers:
    """A number for each row from 0 on: equal for equal values of these columns, and in their order.
    A null is equal to a null, and below all else.
    """
    found = np.zeros(table.num_rows, dtype=np.int64)
    for column in columns:
        values = table[column]
        of = pc.rank(values, sort_keys="ascending", tiebreaker="dense").to_numpy().astype(np.int64)
        if values.null_count:
            of[values.is_null().to_numpy()] = 0
        found = found * (int(of.max(initial=0)) + 1) + of
        _, found = np.unique(found, return_inverse=True)
    return found


def found_in(some: Numbers, asked: Numbers) -> Numbers:
    """For each number that is asked the index of one of `some` that is equal; -1 without one.

    >>> found_in(np.array([7, 5]), np.array([5, 6, 7, 9])).tolist()
    [1, -1, 0, -1]
    """
    way = np.argsort(some, kind="stable")
    at = np.append(way, -1)[np.searchsorted(some[way], asked)]
    found: Numbers = np.where((at >= 0) & (np.append(some, -1)[at] == asked), at, -1)
    return found


def from_others(step: Following, columns: Iterable[str]) -> tuple[str, ...]:
    """These of the columns that may come from another change than the row's own, and who set them;
    none where each change says all of its row.
    """
    if step.highest_decides:
        return ()
    names, own_ones = [*columns], {*step.placed, *OF_A_KEY, *step.spans, WHOLE}
    told = (name for name in (SET, SET_CONTENTS) if name in names)
    return (*(name for name in names if name not in own_ones), *told)


def known_of(step: Following, columns: Iterable[str]) -> tuple[str, ...]:
    """The columns that must be known of the table's rows. `columns`: the changes'."""
    return (*_compared(step, columns), *step.spans)


def _compared(step: Following, columns: Iterable[str]) -> tuple[str, ...]:
    names = [*columns]
    return (*step.placed, DELETED, *place_in(names), CONTENTS, *from_others(step, names))


class Places(NamedTuple):
    """A place is a number from 0 on."""

    rows: pa.Table
    """The table's rows, then the changes, in the columns that are compared. DELETED has no null."""
    old: Flags
    """Of each row whether it is the table's."""
    gone: Flags
    """Of each row whether it is a delete."""
    key: Numbers
    at: Numbers
    """Of each row its place."""
    change: Numbers
    """Of each row a number: copies of one change have the same."""
    kept: Numbers
    """Of each place the row with the highest position; of two that have it the table's."""
    there: Numbers
    """Of each place the table's row; -1 without one."""

    @property
    def both(self) -> Flags:
        """Of each place whether the table has a row there, of which as much is left as of `kept`:
        both live, or both are deletes.
        """
        found: Flags = (self.there >= 0) & (self.gone[self.there] == self.gone[self.kept])
        return found

    def are_copies(self, some: Numbers, others: Numbers) -> Flags:
        """Whether the rows of each pair, of which one is a change, are copies: equal in `order_by`,
        contents, and whether they delete.
        """
        found: Flags = self.change[some] == self.change[others]
        return found


def places(known: pa.Table, changes: pa.Table, step: Following) -> Places:
    """`known`: all that the table has of the keys of the changes, with the columns `known_of`. Only
    of what others may have set, some may be null in the changes.
    """
    rows = _joined(known, changes, _compared(step, changes.column_names))
    old = np.arange(rows.num_rows) < known.num_rows
    at, position = ranks(rows, step.row_key), ranks(rows, placed(step.order_by, rows.column_names))
    # A record that is there already stands behind itself, so it stays.
    way = np.lexsort((old, position, at))
    number = int(at.max(initial=-1)) + 1
    kept, there = np.full(number, -1), np.full(number, -1)
    kept[at[way]] = way  # the last one at a place is left
    there[at[old]] = np.flatnonzero(old)
    gone = rows[DELETED].to_numpy()
    change = ranks(rows, (*step.order_by, DELETED, CONTENTS))
    return Places(rows, old, gone, ranks(rows, step.keys), at, change, kept, there)


def _joined(known: pa.Table, changes: pa.Table, columns: Iterable[str]) -> pa.Table:
    """The rows of the table, then the changes. Any of the columns but DELETED may be null."""
    given = changes.select([*columns])
    schema = pa.schema([field.with_nullable(True) for field in given.schema])
    rows = pa.concat_tables([known.select(schema.names).cast(schema), given.cast(schema)])
    lives = pc.fill_null(rows[DELETED], fill_value=False)  # a person's row says nothing
    rows = rows.set_column(schema.get_field_index(DELETED), DELETED, lives)
    return rows.combine_chunks()


def misplaced(known: pa.Table, step: Following) -> dict[str, object] | None:
    """A key of which a person has broken the rows: several are at one place, or one of a chain has
    none. The key's columns; None where there is none. What has no position is older than any
    change, where each change is all of its row and nothing stands behind it.
    """
    keys = known.select(step.keys)
    if step.spans or not step.highest_decides:
        for name in (*step.placed, DELETED, *place_in(known.column_names), CONTENTS):
            if known[name].null_count:
                return _first(keys.filter(pc.is_null(known[name])))
    several = known.group_by([*step.row_key]).aggregate([([], "count_all")])
    several = several.filter(pc.greater(several["count_all"], 1))
    return _first(several.select(step.keys)) if several.num_rows else None


def _first(rows: pa.Table) -> dict[str, object]:
    found: dict[str, object] = rows.slice(0, 1).to_pylist()[0]
    return found
