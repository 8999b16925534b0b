"""Repairs: the rows of ops.repairs and ops.merged, one repair's replaced together.

An undo is a row of its own, `<repair>/undo`: it is a swap, of the rows from before. So a rewind
that takes an undo back, and a repair before it not, finds both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from spark_jobs.messages.kind import SWAP_KINDS
from spark_jobs.ops import ops_tables
from spark_jobs.ops.terms import TAKEN_OUT, USED
from spark_jobs.source.place import Place, same_sql, selected_sql
from spark_jobs.values.spans import Position

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.values.spans import Span

WITHOUT_COMMIT = f"state = 'canonical' AND {ops_tables.among('kind', SWAP_KINDS)}"
"""Of the repairs that found the table as they had computed it."""
State = Literal["staged", "rejected", "canonical", "swapped", "undone", "failed"]


def stored(root: UPath, pipeline: str, where: str = "true") -> list[Row]:
    """The pipeline's repairs for which the SQL condition holds, by the version that they made."""
    own = ops_tables.equals({"pipeline": pipeline})
    rows: list[Row] = ops_tables.query(
        root, "repairs", f"SELECT * FROM repairs WHERE {own} AND ({where}) ORDER BY table_version"
    ).to_pylist()
    return rows


def swapped_after(
    root: UPath, pipeline: str, generations: Iterable[str], version: int
) -> list[Row]:
    """The repairs and undos that are in the table by a version after this one."""
    of_these = ops_tables.among("generation", generations)
    return stored(root, pipeline, f"{of_these} AND state = 'swapped' AND table_version > {version}")


def one(root: UPath, pipeline: str, repair_id: str) -> Row | None:
    """The row of a repair; None without one."""
    rows = stored(root, pipeline, ops_tables.equals({"repair_id": repair_id}))
    return rows[-1] if rows else None


def put(root: UPath, rows: list[Row], held: Held | None = None) -> None:
    """Write these repairs of one pipeline, in place of what was written of them before. `held` is
    the lease that protects them, if one does.
    """
    if rows:
        ops_tables.replace(root, "repairs", rows, _of(rows[0]["pipeline"], _ids(rows)), held)


def put_merged(
    root: UPath, pipeline: str, repair_id: str, rows: list[Row], held: Held | None = None
) -> None:
    """Write what became of the records that a repair used, in place of what was written before.

    Without records where another repair of the generation has said it: both may have been computed
    at one time, and neither changed a row. And without records that a later one has taken out of
    the rows since.
    """
    told = _settled_by_others(root, pipeline, repair_id, rows)
    if new := [row for row in rows if _record(row) not in told]:
        ours = f"{_of(pipeline, [repair_id])} AND source <> '{TAKEN_OUT}'"
        ops_tables.replace(root, "merged", new, ours, held)


def end(
    root: UPath,
    rows: list[Row],
    generations: Sequence[str],
    state: State,
    copies: Sequence[Span],
    held: Held,
) -> None:
    """Write that these repairs, of one checkpoint's generations, are no longer in the table. The
    records that they used wait again, and the records of later repairs that needed no commit
    because of theirs. Replayed records that they took out of the rows are in them again, and have
    their fates back.

    What they found bad stays in quarantine, though the table may have it in its rows again: another
    repair may have left it out since, or an undo be taken back. In both it is counted twice, in
    neither it is lost.

    So do the `copies` of these event times (Ranged.needed): what they are copies of may be out of
    the rows now.
    """
    if rows:
        pipeline = rows[0]["pipeline"]
        ended = set(_ids(rows))
        own = f"{ops_tables.equals({'pipeline': pipeline})} AND {_among(generations)}"
        relying = [
            row for row in _relying_on(root, rows, generations) if row["repair_id"] not in ended
        ]
        if ops_tables.exists(root, "merged"):
            from spark_jobs.ops import taken_out  # noqa: PLC0415 - pyarrow: a plan needs none

            # First: what it gives back of a repair that has ended too is removed then.
            taken_out.give_back(root, own, _ids([*rows, *relying]), held)
            gone = _of(pipeline, _ids([*rows, *relying]))
            if copies:
                at = Position("event_time").sql(copies)
                gone = f"({gone}) OR ({own} AND fate = 'duplicate' AND ({at}))"
            ops_tables.remove(root, "merged", gone, held)
        put(root, [row | {"state": state} for row in (*rows, *relying)], held)


def _settled_by_others(
    root: UPath, pipeline: str, repair_id: str, rows: list[Row]
) -> set[tuple[str, Place]]:
    if not rows:
        return set()
    of_one = ops_tables.equals({"pipeline": pipeline, "generation": rows[0]["generation"]})
    own = ops_tables.equals({"repair_id": repair_id})
    taken = f"source = '{TAKEN_OUT}'"
    sql = (
        f"SELECT CASE WHEN {taken} THEN 'quarantine' ELSE source END AS source, "
        f"{selected_sql()} FROM merged "
        f"WHERE {of_one} AND ({own}) = ({taken})"
    )
    return {_record(row) for row in ops_tables.query(root, "merged", sql).to_pylist()}


def _record(row: Row) -> tuple[str, Place]:
    return row["source"], Place.of_row(row)


def _relying_on(root: UPath, rows: list[Row], generations: Sequence[str]) -> list[Row]:
    """The repairs that found the table as they had computed it after one of these was in it, and
    have a range in common with that one. A verify merges no record, and stays what it was.
    """
    which = f"{_among(generations)} AND {WITHOUT_COMMIT}"
    found = stored(root, rows[0]["pipeline"], which)
    return [each for each in found if any(_after(each, row) for row in rows)]


def _after(later: Row, row: Row) -> bool:
    """Whether the later one was compared with a table that had this one. No clock says it: one may
    be set back, and two machines have two. An older Sluice noted no version.
    """
    had, compared = row["table_version"], later["table_version_before"]
    if had is None or compared is None:
        had, compared = row["swapped_at"], later["swapped_at"]
    if had is None or compared is None or had > compared:
        return False
    return any(
        max(one["start"], other["start"]) < min(one["end"], other["end"])
        for one in later["ranges"] or ()
        for other in row["ranges"] or ()
    )


def _of(pipeline: str, ids: list[str]) -> str:
    own = ops_tables.equals({"pipeline": pipeline})
    return f"{own} AND {ops_tables.among('repair_id', ids)}"


def _among(generations: Sequence[str]) -> str:
    return ops_tables.among("generation", generations)


def _ids(rows: list[Row]) -> list[str]:
    return [row["repair_id"] for row in rows]


def unmerged(waits: str, merged: str) -> str:
    """For FROM, as `waits`: of these rows of ops.late or ops.quarantine those that no repair has
    used. `merged`: for FROM, with a condition: the rows of ops.merged that may tell of them.
    """
    used = ops_tables.among("fate", USED)
    done = f"SELECT merged.pipeline AS of, {selected_sql()} FROM {merged} AND {used}"
    return (
        f"({waits}) AS waits LEFT ANTI JOIN ({done}) AS done "
        f"ON waits.pipeline = done.of AND {same_sql('waits', 'done')}"
    )
