"""Accounts: the rows of ops.batches of one checkpoint's batches, of all its generations.

Each batch up to the cursor's `audited` has one row, and those that have not passed the checks are
kept (admin/expired.py). A row that is missing is no account without errors.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.errors import CheckpointBroken
from spark_jobs.ops import ops_tables
from spark_jobs.ops.terms import NEWEST, moment
from spark_jobs.values.own_columns import TRUNCATED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.root.paths import Paths

Times = tuple[tuple[str, "datetime"], ...]
"""Of several topics, name and the largest event time, as the cursor has them."""


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


def truncates(paths: Paths, known: Identity, batches: Sequence[int]) -> int:
    """The quarantined records of these batches that tell of a truncate of the source."""
    if not batches:
        return 0
    where = ops_tables.equals({"reason": TRUNCATED})
    found: list[Row] = ops_tables.query(
        paths.root,
        "quarantine",
        f"SELECT count(*) AS records FROM quarantine WHERE {_of_checkpoint(paths, known)} "
        f"AND batch_id IN ({', '.join(map(str, batches))}) AND {where}",
    ).to_pylist()
    return sum(row["records"] for row in found)


def failing_rules(
    of: Iterable[Mapping[str, int] | Sequence[tuple[str, int]] | None],
) -> Counter[str]:
    """Rule -> the records that fail it, summed over batches, as rows of ops.batches have them."""
    found = Counter[str]()
    for each in of:
        found.update(dict(each or ()))
    return found


def first_lacking(ids: list[int], judged: int, audited: int) -> int | None:
    """The first batch after `judged`, up to `audited`, that is not among the ids once; None if all
    are.

    >>> first_lacking([3, 4, 6], 3, 6)
    5
    """
    times = Counter(ids)
    return next((each for each in range(judged + 1, audited + 1) if times[each] != 1), None)


def newest_times(rows: Iterable[Row]) -> Times:
    """Of these rows of ops.batches. Nothing is known of a topic that is not there."""
    found: dict[str, datetime] = {}
    for name, account in _accounts(rows):
        if (time := moment(account.get(NEWEST))) is not None:
            found[name] = max(time, found.get(name, time))
    return tuple(found.items())


def without(newest: Times, gone: Sequence[Row], kept: Iterable[Row]) -> Times:
    """The cursor's times where the rows `gone` do not count. What no such row has moved stays: the
    row that had it may have expired.
    """
    moved, has = dict(newest_times(gone)), dict(newest_times(kept))
    # An older Sluice told no times.
    untold = {name for name, of in _accounts(gone) if of.get("accepted") and NEWEST not in of}
    found: dict[str, datetime] = {}
    for name, was in newest:
        if name not in untold and (name not in moved or moved[name] < was):
            found[name] = was
        elif name in has:
            found[name] = has[name]
    return tuple(found.items())


def _accounts(rows: Iterable[Row]) -> Iterator[tuple[str, dict[str, int]]]:
    for row in rows:
        yield from json.loads(row["topics"] or "{}").items()


def _of_checkpoint(paths: Paths, known: Identity) -> str:
    return ops_tables.of_checkpoint(paths.pipeline, known.generations)
