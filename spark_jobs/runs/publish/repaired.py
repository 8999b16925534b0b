"""Repaired: the repairs whose rows are published now, for the asset event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.messages.event import Repaired
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.ops.repairs import UNDO
from spark_jobs.table import history
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans.span import Span

if TYPE_CHECKING:
    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.checkpoint.notes.published import Published
    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.root.paths import Paths


def repaired(paths: Paths, known: Identity, fact: Published) -> tuple[Repaired, ...]:
    """The repairs and undos of the versions after the fact's `before_version`, up to its own.

    Without those that a rewind took back: their rows were in no version that stands. One that was
    undone is told with its undo, if both are new.
    """
    rows = _behind(paths, known, fact, fact.before_version)
    undos = {row["repair_id"] for row in rows if row["state"] == "swapped"}
    return tuple(
        _told(row) for row in rows if row["state"] == "swapped" or row["repair_id"] + UNDO in undos
    )


def differing(paths: Paths, known: Identity, fact: Published) -> list[Span]:
    """The spans in which these repairs and undos changed rows, and those that a RESTORE since then,
    a rewind's or a person's, has changed back.
    """
    before = fact.before_version
    if before is not None:
        before = history.kept_since(table_of(paths), before)
    return [span for row in _behind(paths, known, fact, before) for span in changed_spans(row)]


def changed_spans(row: Row) -> list[Span]:
    """The spans in which a repair or an undo changed rows, in whole hours or days, by its row of
    ops.repairs.
    """
    return [Span(each["start"], each["end"]) for each in row["differing"] or ()]


def _behind(paths: Paths, known: Identity, fact: Published, version: int | None) -> list[Row]:
    ours = ops_tables.among("generation", known.generations)
    return repairs.stored(
        paths.root,
        paths.pipeline,
        f"{ours} AND state IN ('swapped', 'undone') "
        f"AND table_version > {-1 if version is None else version} "
        f"AND table_version <= {fact.table_version}",
    )


def _told(row: Row) -> Repaired:
    return Repaired(
        repair_id=row["repair_id"],
        kind=row["kind"],
        ranges=tuple(Span(each["start"], each["end"]) for each in row["ranges"] or ()),
        added=row["added"] or 0,
        removed=row["removed"] or 0,
        changed=row["changed"] or 0,
        merged=(row["late_merged"] or 0) + (row["replayed"] or 0),
    )
