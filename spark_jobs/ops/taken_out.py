"""Taken out: what ops.merged said of replayed records, until a later repair found them bad and took
them out of the rows.

The row stays there under another source, which no reader asks for, with the id of that repair. So
it can be given back when that repair leaves the table: by an undo, or by a rewind.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.ops.terms import TAKEN_OUT

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.storage.lease_view import Held

PLACE: Final = ["partition", "offset"]
RECORD: Final = ["topic_id", *PLACE]


def take_out(root: UPath, repair_id: str, places: pa.Table, of_these: str, held: Held) -> None:
    """Let ops.merged say no longer that records of ops.quarantine at these places are in the rows,
    because of this repair. `of_these` is the SQL condition for the rows of the checkpoint.
    """
    told, out = _both(root, of_these)
    gone, left = (told.join(places, PLACE, join_type=f"left {how}") for how in ("semi", "anti"))
    if gone.num_rows:
        _put(root, of_these, [left, out, _said(gone, TAKEN_OUT, repair_id)], held)


def give_back(root: UPath, of_these: str, repair_ids: Iterable[str], held: Held) -> None:
    """Let ops.merged say again what it said before these repairs took records out. `of_these` as
    above.
    """
    told, out = _both(root, of_these)
    takers = {*repair_ids} & {*pc.unique(out["taken_out_by"]).to_pylist()}
    if not takers:
        return
    by_them = pc.is_in(out["taken_out_by"], pa.array(sorted(takers), pa.string()))
    theirs, left = out.filter(by_them), out.filter(pc.invert(by_them))
    # A replay since may have said it anew: each record is said once.
    again, back = (theirs.join(told, RECORD, join_type=f"left {how}") for how in ("semi", "anti"))
    if back.num_rows:
        _put(root, of_these, [told, left, again, _said(back, "quarantine", None)], held)


def _both(root: UPath, where: str) -> tuple[pa.Table, pa.Table]:
    found = ops_tables.query(
        root, "merged", f"SELECT * FROM merged WHERE {where} AND {_SOURCES}"
    ).select(SCHEMAS["merged"].names)
    found = found.cast(SCHEMAS["merged"])
    out = pc.equal(found["source"], TAKEN_OUT)
    return found.filter(pc.invert(out)), found.filter(out)


def _put(root: UPath, where: str, rows: list[pa.Table], held: Held) -> None:
    """In one commit. delta-rs refuses rows for which the condition does not hold."""
    names = SCHEMAS["merged"].names  # a join gives its keys first
    whole = pa.concat_tables([each.select(names) for each in rows])
    ops_tables.replace(root, "merged", whole, f"{where} AND {_SOURCES}", held)


_SOURCES: Final = ops_tables.among("source", ("quarantine", TAKEN_OUT))


def _said(rows: pa.Table, source: str, by: str | None) -> pa.Table:
    for name, value in (("source", source), ("taken_out_by", by)):
        column = pa.array([value] * rows.num_rows, pa.string())
        at = rows.column_names.index(name)
        rows = rows.set_column(at, SCHEMAS["merged"].field(name), column)
    return rows
