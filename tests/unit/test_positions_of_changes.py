"""The position of a change: by `order_by`, then by offset, whichever partition has it."""

import pyarrow as pa

from spark_jobs.sink.keyed.fates import BEFORE, compared, wins
from spark_jobs.values.own_columns import CONTENTS, DELETED, OFFSET, PARTITION

EARLY, LATE = {PARTITION: 7, OFFSET: 3}, {PARTITION: 0, OFFSET: 90}


def test_a_change_at_the_later_offset_wins_over_one_of_a_higher_partition():
    both = {"lsn": 5, DELETED: False, CONTENTS: 1}
    for new, old, won in ((LATE, EARLY, True), (EARLY, LATE, False)):
        before = {BEFORE + name: value for name, value in (both | old).items()}
        row = pa.Table.from_pylist([both | new | before])
        assert {*compared(("lsn",))} <= {*row.column_names}
        assert wins(row, ("lsn",)).to_pylist() == [won]
