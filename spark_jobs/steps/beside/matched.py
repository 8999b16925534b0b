"""Matched: how many rows find a row in a table beside the stream, and how many find none.

A step before the stateful ones marks its records in a field of kafka, which is counted with the
stateful input. Any other step has FOUND in its output, which is counted there.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Column, DataFrame, functions as F

from spark_jobs.values.own_columns import KAFKA, own

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spark_jobs.spec import Pipeline

FOUND: Final = own("found")
"""Whether the table beside has a row; there until it is counted."""
UNMATCHED: Final = "unmatched"
"""How the name of an observed count begins: of the rows for which a dimension has none. Behind it
are the step's index, where the rows are records, and the dimension's name.
"""


def count_name(index: int | str, side: str) -> str:
    """The name of an observed count. `index`: the step's, empty behind the stateful input."""
    return f"{UNMATCHED}_{index}_{side}"


def unmatched_counts(spec: Pipeline) -> list[Column]:
    """Aggregates over the stateful input, bigint: for each step before it that counts such rows."""
    return [F.count_if(f"{KAFKA}.{name}").alias(name) for name in _of_records(spec)]


def without_counted(stateful_input: DataFrame, spec: Pipeline) -> DataFrame:
    """The same rows, with kafka as they were read with it."""
    if names := _of_records(spec):
        return stateful_input.withColumn(KAFKA, F.col(KAFKA).dropFields(*names))
    return stateful_input


def _of_records(spec: Pipeline) -> list[str]:
    before = enumerate(spec.before_state)
    return [count_name(index, side) for index, step in before for side in step.counts_unmatched]


def unmatched(observed: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Dimension -> the rows that found none of its rows, by what was observed of them."""
    found = Counter[str]()
    for metrics in observed:
        for name, count in metrics.items():
            word, *rest = name.split("_", 2)
            if word == UNMATCHED and rest:
                found[rest[-1]] += int(count or 0)
    return dict(found)
