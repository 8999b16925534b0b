"""Row set: rows as a multiset, in which two rows are the same only if every value is.

Two computations of one sum may differ in the last bits; here that is a difference.
"""

from __future__ import annotations

from collections import Counter
from itertools import repeat

import pyarrow as pa

from spark_jobs.values.python_times import values_of


def same(one: pa.Table, other: pa.Table) -> bool:
    """Whether both have the same rows, each as often. Their columns are the same."""
    return one.num_rows == other.num_rows and Counter(texts(one)) == Counter(texts(other))


def without(rows: pa.Table, taken: pa.Table) -> pa.Table:
    """The rows without `taken`, each as often as it is there.

    Raises ValueError if one of them is not there.
    """
    left = Counter(texts(taken))
    kept = []
    for key in texts(rows):
        gone = left[key] > 0
        left[key] -= gone
        kept.append(not gone)
    if missing := sum(left.values()):
        message = f"{missing} of the rows to take away are not there"
        raise ValueError(message)
    return rows.filter(pa.array(kept, pa.bool_()))


def texts(rows: pa.Table) -> list[str]:
    """A text for each row: nested values have no hash, and one NaN is not equal to itself."""
    columns = [map(repr, values_of(column)) for column in rows.columns]
    if not columns:
        return [*repeat("", rows.num_rows)]
    return ["\0".join(values) for values in zip(*columns, strict=True)]
