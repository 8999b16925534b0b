"""Beginning: the offsets at which a checkpoint began, from the ops tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spark_jobs.ops import ops_tables
from spark_jobs.source.micro_batch import Offsets

if TYPE_CHECKING:
    from spark_jobs.root.paths import Paths


NO_BATCH = -1
"""The batch of slices whose records no drain has read: a rebuild had them from an archive."""


def beginning(paths: Paths, generations: tuple[str, ...], *, drained: bool = False) -> Offsets:
    """The offsets at which the table's records begin: of the oldest row in ops.batches, or of the
    oldest slice, which outlives that row.

    With `drained` it is where the first batch began, without what a rebuild had from an archive.
    """
    of_it = ops_tables.of_checkpoint(paths.pipeline, generations)
    oldest = ops_tables.query(
        paths.root,
        "slices",
        f'SELECT "partition", min(first_offset) AS first FROM slices WHERE {of_it} '
        f"{f'AND batch_id > {NO_BATCH} ' if drained else ''}"
        'GROUP BY "partition"',
    ).to_pylist()
    rows = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT offsets_start FROM batches WHERE {of_it} ORDER BY batch_id LIMIT 1",
    ).to_pylist()
    began = {int(p): at for p, at in json.loads(rows[0]["offsets_start"]).items()} if rows else {}
    for row in oldest:
        began[row["partition"]] = min(row["first"], began.get(row["partition"], row["first"]))
    return began
