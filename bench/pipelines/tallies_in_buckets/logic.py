"""The tally of bench/pipelines/tallies, many keys at once."""

import pyarrow as pa

COLUMNS = ["tail_number", "records", "minutes"]


def tally(rows: pa.Table, state: pa.Table) -> tuple[pa.Table, pa.Table]:
    """State: each key's records, and the sum of their minutes."""
    new = rows.group_by("tail_number").aggregate([([], "count_all"), ("delay_minutes", "sum")])
    both = pa.concat_tables([state, new.rename_columns(COLUMNS)])
    sums = both.group_by("tail_number").aggregate([("records", "sum"), ("minutes", "sum")])
    tallies = sums.rename_columns(COLUMNS)
    return tallies, tallies
