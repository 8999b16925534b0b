"""Ranks: numbers in the place of the values of columns. Without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
