"""Unique: whether a dimension has at most one row of a key at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from spark_jobs.values.own_columns import own

if TYPE_CHECKING:
    import pyarrow as pa

MOST: Final = 6
"""Rows that are told."""
_START, _END = own("valid_from"), own("valid_to")


def several(rows: pa.Table, keys: int) -> list[dict[str, Any]]:
    """Some rows of keys that have others at the same time; nothing if there are none.

    `rows` as side/dimension.py has them: the first `keys` columns are the key; behind them are the
    two times, if rows have times.
    """
    import pyarrow as pa  # noqa: PLC0415 - what only plans reads no table
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    names = rows.column_names[:keys]
    order = [(name, "ascending") for name in names]
    beside, timed = rows, _START in rows.column_names
    if timed:  # null begins before all, and ends behind all
        for column, never in ((_START, -(2**63)), (_END, 2**63 - 1)):
            number = pc.fill_null(rows.column(column).cast(pa.int64()), never)
            beside = beside.set_column(rows.column_names.index(column), column, number)
        order.append((_START, "ascending"))
    at = pc.sort_indices(beside, sort_keys=order)
    ordered = beside.take(at)
    before, after = ordered.slice(0, max(0, rows.num_rows - 1)), ordered.slice(1)
    same = pc.equal(before.column(names[0]), after.column(names[0]))
    for name in names[1:]:
        same = pc.and_(same, pc.equal(before.column(name), after.column(name)))
    if timed:
        same = pc.and_(same, pc.greater(before.column(_END), after.column(_START)))
    found = pc.indices_nonzero(same).slice(0, MOST // 2).to_pylist()
    places = sorted({each for first in found for each in (first, first + 1)})
    told: list[dict[str, Any]] = rows.take(at.take(pa.array(places, pa.int64()))).to_pylist()
    return told
