"""Accounts: the rows of ops.batches of one checkpoint's batches, of all its generations.

Each batch up to the cursor's `audited` has one row, and those that have not passed the checks are
kept (admin/expired.py). A row that is missing is no account without errors.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.errors import CheckpointBroken
from spark_jobs.ops import ops_tables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.ops.schema import Row
    from spark_jobs.root.paths import Paths


def stored(paths: Paths, known: Identity, columns: Iterable[str]) -> list[Row]:
    """The rows of all batches, ascending. `columns` are those to read."""
    rows: list[Row] = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT {', '.join(columns)} FROM batches WHERE {_of_checkpoint(paths, known)} "
        "ORDER BY batch_id",
    ).to_pylist()
    return rows


def since_judged(
    paths: Paths, known: Identity, cursor: Cursor, columns: Iterable[str]
) -> list[Row]:
    """The rows of the cursor's `judged`, if there is one, and of the batches after it, up to
    `audited`.

    Raises CheckpointBroken unless each batch after `judged` has one row.
    """
    rows: list[Row] = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT {', '.join(columns)} FROM batches WHERE {_of_checkpoint(paths, known)} "
        f"AND batch_id BETWEEN {cursor.judged} AND {cursor.audited} ORDER BY batch_id",
    ).to_pylist()
    ids = [row["batch_id"] for row in rows]
    lacking = first_lacking(ids, cursor.judged, cursor.audited)
    if lacking is not None:
        found = "more than one row" if lacking in ids else "no row"
        raise CheckpointBroken.account_absent(
            found=found,
            lacking=lacking,
            pipeline=paths.pipeline,
            cursor=paths.cursor,
            audited=cursor.audited,
        )
    return rows


def first_lacking(ids: list[int], judged: int, audited: int) -> int | None:
    """The first batch after `judged`, up to `audited`, that is not among the ids once; None if all
    are.

    >>> first_lacking([3, 4, 6], 3, 6)
    5
    """
    times = Counter(ids)
    return next((each for each in range(judged + 1, audited + 1) if times[each] != 1), None)


def _of_checkpoint(paths: Paths, known: Identity) -> str:
    return ops_tables.of_checkpoint(paths.pipeline, known.generations)
