"""Counts events of aircraft, many aircraft at once."""

import pyarrow as pa
import pyarrow.compute as pc

KEYS = ["carrier", "tail_number"]
EVERY = 4
"""Events from one service to the next."""


def services(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
    """State: an aircraft's events since its last service; of one that has none, nothing."""
    new = rows.group_by(KEYS).aggregate([([], "count_all")]).rename_columns([*KEYS, "events"])
    both = pa.concat_tables([state.cast(new.schema), new])
    sums = both.group_by(KEYS).aggregate([("events", "sum")]).rename_columns([*KEYS, "events"])
    times = pc.divide(sums["events"], EVERY)
    left = pc.subtract(sums["events"], pc.multiply(times, EVERY))
    served = [at for at, many in enumerate(times.to_pylist()) for _ in range(many)]
    remembered = sums.set_column(2, "events", left).filter(pc.greater(left, 0))
    return sums.select(KEYS).take(pa.array(served, pa.int64())), remembered
