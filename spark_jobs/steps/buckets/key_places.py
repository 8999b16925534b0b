"""Key places: which keys two tables share, and where their rows are. Nothing here needs Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.values.own_columns import own

_AT, _SECOND = own("at"), own("second")
# As Arrow names what it aggregates.
LAST, COUNT, IN_SECOND = f"{_AT}_max", f"{_AT}_count", f"{_SECOND}_any"


def split(first: pa.Table, second: pa.Table, keys: tuple[str, ...]) -> tuple[pa.Table, pa.Table]:
    """The rows of the first whose key the second has too, and the others. `first` has each key
    once.
    """
    all_keys = places(first, second, keys)
    in_first = pc.is_valid(all_keys[LAST])
    shared = all_keys.filter(pc.and_(in_first, all_keys[IN_SECOND]))
    alone = all_keys.filter(pc.invert(all_keys[IN_SECOND]))
    return first.take(shared[LAST]), first.take(alone[LAST])


def places(first: pa.Table, second: pa.Table, keys: tuple[str, ...]) -> pa.Table:
    """A row for each key of either, as Spark groups: null is a key too.

    LAST: the place of its last row in the first, null if it has none; COUNT: how many it has there;
    IN_SECOND: whether the second has it.
    """
    names = list(keys)
    at = pa.concat_arrays(
        [pa.array(np.arange(first.num_rows)), pa.nulls(second.num_rows, pa.int64())]
    )
    in_second = np.arange(first.num_rows + second.num_rows) >= first.num_rows
    both = pa.concat_tables([first.select(names), second.select(names)])
    both = both.append_column(_AT, at).append_column(_SECOND, pa.array(in_second))
    return both.group_by(names, use_threads=False).aggregate(
        [(_AT, "max"), (_AT, "count"), (_SECOND, "any")]
    )
