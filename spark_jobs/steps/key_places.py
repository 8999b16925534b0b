"""Key places: which keys two tables share, and where their rows are. Nothing here needs Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def split(first: pa.Table, second: pa.Table, keys: tuple[str, ...]) -> tuple[pa.Table, pa.Table]:
    """The rows of the first whose key the second has too, and the others. `first` has each key
    once.
    """
    all_keys = places(first, second, keys)
    in_first = pc.is_valid(all_keys["_at_max"])
    shared = all_keys.filter(pc.and_(in_first, all_keys["_second_any"]))
    alone = all_keys.filter(pc.invert(all_keys["_second_any"]))
    return first.take(shared["_at_max"]), first.take(alone["_at_max"])


def places(first: pa.Table, second: pa.Table, keys: tuple[str, ...]) -> pa.Table:
    """A row for each key of either, as Spark groups: null is a key too.

    _at_max: the place of its last row in the first, null if it has none; _at_count: how many it has
    there; _second_any: whether the second has it.
    """
    names = list(keys)
    at = pa.concat_arrays(
        [pa.array(np.arange(first.num_rows)), pa.nulls(second.num_rows, pa.int64())]
    )
    in_second = np.arange(first.num_rows + second.num_rows) >= first.num_rows
    both = pa.concat_tables([first.select(names), second.select(names)])
    both = both.append_column("_at", at).append_column("_second", pa.array(in_second))
    return both.group_by(names, use_threads=False).aggregate(
        [("_at", "max"), ("_at", "count"), ("_second", "any")]
    )
