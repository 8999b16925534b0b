"""State rows: how many a new state has, added up from what its batches put and removed.

To count them Spark reads each row of RocksDB before it writes it: 5 % of a first load, and nothing
of a delivery (bench/NOTES.md). So only a pipeline's first query goes without. The next one counts
what it finds, once (RocksDB.openLocalRocksDB of Spark 4.2), and Spark goes on from there.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from spark_jobs.spec import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.spec import Pipeline

COUNTED: Final = "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows"


def adds_up(spec: Pipeline) -> bool:
    """Whether each row that a first query puts is a new one.

    A Deduplicate puts an id once. An Aggregate puts a group in each batch that has rows of it: so
    the query must have one batch with data, and no step before may keep rows for a later one.
    """
    steps = [step for step in spec.steps if step.stateful]
    groups = [step for step in steps if step.aggregates]
    others = [step for step in steps if not step.aggregates]
    return (
        all(step.balance.drops_duplicates for step in others)
        and len(groups) <= 1
        and not (groups and spec.max_offsets_per_batch)
        and not any(isinstance(step.grouping_window, Session) for step in groups)
        and spec.output_mode != "complete"
    )


class StateRows:
    """Of one query, whose state was empty."""

    def __init__(self) -> None:
        self._next = 0
        self._rows = Counter[int]()
        """The operator's place among the operators -> its rows."""

    def after(self, batch: int, gained: Sequence[int]) -> list[int | None]:
        """The rows of each operator after the next batch, by how many it has gained; None behind a
        batch that nobody saw.
        """
        if batch != self._next:
            return [None] * len(gained)
        self._next += 1
        self._rows.update(dict(enumerate(gained)))
        return [self._rows[number] for number in range(len(gained))]
