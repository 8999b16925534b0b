"""Places: the partitions in a table for people, with their topics where a pipeline has several."""

from __future__ import annotations

from functools import cache
from typing import Any

from spark_jobs.checkpoint.notes.partitions import partitions_of
from spark_jobs.ops.views import Rows

OFFSETS = ("offsets_start", "offsets_end")


def with_topics(rows: Rows, pipeline: str | None, root: str) -> Rows:
    """`pipeline`: whose rows these are, where no column says it."""
    if not {"partition", *OFFSETS} & {*rows.names}:
        return rows
    of = cache(partitions_of)

    def named(values: tuple[Any, ...]) -> tuple[Any, ...]:
        row = dict(zip(rows.names, values, strict=True))
        name = row.get("pipeline", pipeline)
        if name is None or not (known := of(name, root)).named:
            return values
        row |= {each: known.offsets(row[each]) for each in OFFSETS if each in row}
        if row.get("partition") is not None:
            row["partition"] = known.shown(row["partition"])
        return tuple(row.values())

    return Rows(rows.names, tuple(map(named, rows.values)))
