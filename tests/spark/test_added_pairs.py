"""Rows that only columns tell apart which were added later are paired with their own."""

import itertools
from collections import Counter
from typing import Any

from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_jobs.repair.compute.change import change
from spark_jobs.table.delta.table_layout import MARK
from tests.unit.specs import deduplicate, pipeline

COLUMNS = StructType(
    [
        StructField("k", LongType()),
        StructField("a", StringType(), metadata={MARK: "3"}),
        StructField("b", LongType(), metadata={MARK: "9"}),
    ]
)
Rows = list[tuple[str | None, int | None]]


def fewest_changed(live: Rows, computed: Rows) -> int:
    """Of all ways to pair the rows of one k."""
    pairs = (zip(live, order, strict=False) for order in itertools.permutations(computed))
    return min(sum(not _equal(*pair) for pair in each) for each in pairs)


def _equal(live: Any, computed: Any) -> bool:
    return all(one in (None, other) for one, other in zip(live, computed, strict=True))


CASES: list[tuple[Rows, Rows]] = [
    ([(None, None), ("b", 1)], [("z", 1), ("b", 1)]),
    ([(None, None), ("x", None)], [("y", 1), ("x", 2)]),
    ([(None, None)] * 2 + [("x", 1)] * 2, [("x", 1)] * 3 + [("y", 2)]),
    ([(None, None), ("b", 1)], [("z", 1), ("c", 1)]),
    ([("a", 1), ("b", None)], [("b", 7), ("a", 1)]),
    ([(None, None), ("b", 1)], [("b", 1)]),
    ([("b", 1)], [(None, None), ("b", 1)]),
]
"""Of each k what is there, and what was computed."""


def test_no_row_is_changed_that_need_not_be(spark):
    tables = [
        spark.createDataFrame(
            [(k, *row) for k, case in enumerate(CASES) for row in case[n]], COLUMNS
        )
        for n in range(2)
    ]
    found = change(pipeline(steps=(deduplicate(),)), *tables).collect()
    for k, (live, computed) in enumerate(CASES):
        rows = [row for row in found if k in (row["before"] or row["after"])[:1]]
        ops = Counter(row["op"] for row in rows)
        more = len(computed) - len(live)
        assert (ops["added"], ops["removed"]) == (max(more, 0), max(-more, 0))
        assert ops["changed"] == (0 if more else fewest_changed(live, computed)), k
        for side, wanted in (("before", live), ("after", computed)):
            given = Counter(tuple(row[side])[1:] for row in rows if row[side])
            assert given == Counter(wanted)
