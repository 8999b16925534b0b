"""Preconditions: whether a repair may be swapped in, or undone, in the table as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.errors import RepairOverlapped, StagingStale
from spark_jobs.ops import repairs
from spark_jobs.ops.repairs import UNDO
from spark_jobs.repair.exchange.unready import refuse_ended
from spark_jobs.repair.manifest import Manifest, read_manifest
from spark_jobs.sink.restored import refuse_restored
from spark_jobs.spans.span import Span
from spark_jobs.table.delta import door

if TYPE_CHECKING:
    from spark_jobs.root.paths import Paths


class Claim(NamedTuple):
    """What was computed, and for which version of the table."""

    repair_id: str
    """Of the swap, or of the undo."""
    manifest: Manifest
    compared_at: int
    """The version in which the table has the rows that are to go."""

    @property
    def transaction(self) -> str:
        """The application id of the commit."""
        made = self.manifest
        return f"{made.pipeline}/{made.generation}/repair/{self.repair_id}"


def refuse_foreign(paths: Paths, claim: Claim) -> Identity:
    """Raise StagingStale if table or checkpoint are not those that the repair was computed for;
    TableReplaced if the table was restored.
    """
    known = read_identity(paths)
    manifest = claim.manifest
    if known is None or manifest.generation not in known.generations:
        raise _stale(
            claim, f"the checkpoint of {manifest.pipeline} was reset since: it is another one"
        )
    if not door.is_table(paths.table):
        raise _stale(claim, f"there is no table at {paths.table}")
    if str(door.open_table(paths.table).metadata().id) != manifest.table_id:
        raise _stale(claim, f"{paths.table} is another table: it was dropped and made again")
    refuse_restored(paths, read_cursor(paths.cursor).judged_table_version)
    return known


def refuse_rewound(known: Identity, claim: Claim) -> None:
    """Raise StagingStale if the generation changed since the rows were computed. An undo gives back
    rows that the table had before.
    """
    if not claim.repair_id.endswith(UNDO) and claim.manifest.generation != known.generation:
        raise _stale(claim, f"{claim.manifest.pipeline} was rewound since")


def refuse_withdrawn(paths: Paths, claim: Claim) -> None:
    """Raise SwapRefused if a person has declined the repair since its rows were read, StagingStale
    if it was staged again, RepairUnknown while it is.
    """
    now = read_manifest(paths, claim.manifest.repair_id)
    if not claim.repair_id.endswith(UNDO):
        refuse_ended(now, None)
    if now != claim.manifest:
        raise StagingStale.staged_again(repair=claim.repair_id)


def refuse_overlapped(paths: Paths, known: Identity, claim: Claim) -> None:
    """Raise RepairOverlapped if a repair that was swapped in after the comparison had a span in
    common with this one, and was not undone.
    """
    manifest = claim.manifest
    later = repairs.swapped_after(
        paths.root, manifest.pipeline, known.generations, claim.compared_at
    )
    for row in later:
        if row["repair_id"] == manifest.repair_id or row["repair_id"].endswith(UNDO):
            continue  # an undo gives the rows back: the comparison says whether it did
        ranges, changed = (
            [Span(each["start"], each["end"]) for each in row[name] or ()]
            for name in ("ranges", "differing")
        )
        both = [span for span in manifest.spans if any(map(span.overlaps, ranges))]
        # A session that they replaced may lie before their ranges, and before these.
        both += [span for span in manifest.compared if any(map(span.overlaps, changed))]
        if both:
            raise RepairOverlapped.later_repair(
                later=row["repair_id"],
                span=both[0],
                version=row["table_version"],
                repair=manifest.repair_id,
                pipeline=manifest.pipeline,
            )


def _stale(claim: Claim, why: str) -> StagingStale:
    return StagingStale.table_moved_on(repair=claim.repair_id, why=why)
