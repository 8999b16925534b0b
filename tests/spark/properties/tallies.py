"""A function for buckets and generated events: sums of each key's values so far."""

import pyarrow as pa

COLUMNS = ["key", "events", "valued", "total", "least", "most"]


def tallies(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
    """State of a key, and its row: what SQL's aggregates give over all of its events."""
    value = [("value", name) for name in ("count", "sum", "min", "max")]
    new = rows.group_by("key").aggregate([([], "count_all"), *value]).rename_columns(COLUMNS)
    how = zip(COLUMNS[1:], ("sum", "sum", "sum", "min", "max"), strict=True)
    both = pa.concat_tables([state, new]).group_by("key").aggregate([*how])
    sums = both.rename_columns(COLUMNS)
    return sums, sums
