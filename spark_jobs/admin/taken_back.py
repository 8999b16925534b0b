"""Taken back: the repairs that a rewind takes out of the table, because they came after the version
that it restores.

Their records wait for a repair again, as do the records of repairs that changed nothing and were
computed from later batches too: what they found in the rows may be gone. A repair whose undo is
taken back is in the table again, and what became of its records is said again, as long as its
staging is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from spark_jobs.errors import RepairUnknown
from spark_jobs.messages.kind import KINDS
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.repairs import UNDO
from spark_jobs.repair.exchange.bad_rows import take_out_bad
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.repair.swap import put_fates
from spark_jobs.values.spans.span import EVER, Span, joined

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.source.micro_batch import Offsets
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


class TakenBack(BaseModel):
    """By the ids of their rows in ops.repairs."""

    model_config = ConfigDict(frozen=True)

    repairs: tuple[str, ...]
    """Those that the table has no longer."""
    undos: tuple[str, ...]
    """Those that it has no longer, so that what they took back is there again."""
    back: tuple[str, ...]
    """Repairs that are there again by that, in the order of their versions."""
    lines: tuple[str, ...]
    """It in words, a line each, before it is done."""
    copies: tuple[Span, ...] = EVER
    """The event times of the copies that wait again too; all, if nobody said which."""


def taken_back(
    paths: Paths,
    generations: Sequence[str],
    version: int,
    end: Offsets,
    reach: Callable[[Span], Span],
) -> TakenBack:
    """What came after that version of the table, and what has no version and was computed from
    records after `end`, the end of the batch to which it goes. `reach`: see ranged.needed.
    """
    rows = [
        *repairs.swapped_after(paths.root, paths.pipeline, generations, version),
        *_without_commit(paths, generations, end),
    ]
    undos = [row["repair_id"] for row in rows if row["repair_id"].endswith(UNDO)]
    back = [
        row
        for row in _rows(paths, [each.removesuffix(UNDO) for each in undos])
        if row["table_version"] <= version
    ]
    # Undos came newest first: a later repair takes out what an earlier one has put there.
    back.sort(key=lambda row: row["table_version"])
    return TakenBack(
        repairs=tuple(row["repair_id"] for row in rows if row["repair_id"] not in undos),
        undos=tuple(undos),
        back=tuple(row["repair_id"] for row in back),
        lines=_told(rows),
        copies=joined(
            reach(Span(each["start"], each["end"])) for row in rows for each in row["ranges"] or ()
        ),
    )


def _rows(paths: Paths, ids: Sequence[str]) -> list[Row]:
    found = (repairs.one(paths.root, paths.pipeline, each) for each in ids)
    return [row for row in found if row is not None]


def _told(rows: list[Row]) -> tuple[str, ...]:
    lines = (
        f"undo the undo of repair {row['repair_id'].removesuffix(UNDO)}, of table version "
        f"{row['table_version']}"
        if row["repair_id"].endswith(UNDO)
        else f"undo repair {row['repair_id']}, {_place(row)}: its {KINDS[row['kind']].taken_back}"
        for row in rows
    )
    return tuple(lines)


def _place(row: Row) -> str:
    version = row["table_version"]
    return "which changed no row" if version is None else f"of table version {version}"


def take_back(paths: Paths, generations: Sequence[str], taken: TakenBack, held: Held) -> None:
    """Write it to ops.repairs and ops.merged. Once done, there is nothing to do."""
    back = [row | {"state": "swapped"} for row in _rows(paths, taken.back)]
    # In this order. What later repairs took out of the rows is in them again, before those that
    # are back take out theirs. And an undo that has ended is not found again, after a kill in
    # between.
    repairs.end(paths.root, _rows(paths, taken.repairs), generations, "undone", taken.copies, held)
    for row in back:
        _restore_fates(paths, generations, row["repair_id"], held)
    repairs.put(paths.root, back, held)
    repairs.end(paths.root, _rows(paths, taken.undos), generations, "undone", taken.copies, held)


def _restore_fates(paths: Paths, generations: Sequence[str], repair_id: str, held: Held) -> None:
    """Of the records of a repair that is in the table again. Without its staging nothing says them:
    the next repair of its ranges finds that nothing differs, and writes them anew.
    """
    try:
        manifest = read_manifest(paths, repair_id)
    except RepairUnknown:
        return
    put_fates(paths, manifest, held)
    if manifest.newly_bad:
        take_out_bad(paths, manifest, generations, held)


def _without_commit(paths: Paths, generations: Sequence[str], end: Offsets) -> list[Row]:
    """The repairs that found the table as they had computed it, from records after `end` too. Their
    version is none, and what ops.merged says of those records would be of records that the next
    drain reads anew.
    """
    of_these = ops_tables.among("generation", generations)
    found = repairs.stored(paths.root, paths.pipeline, f"{of_these} AND {repairs.WITHOUT_COMMIT}")
    return [
        row
        for row in found
        if any(at > end.get(int(p), 0) for p, at in json.loads(row["horizon"] or "{}").items())
    ]
