"""Preconditions: whether a repair may be staged once more, swapped in, or undone, by what became of
it, by a person's answer, and by the table as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.published import publisher
from spark_jobs.errors import ApprovalMissing, RepairOverlapped, StagingStale, SwapRefused
from spark_jobs.journal.runner import leased
from spark_jobs.messages.kind import KINDS
from spark_jobs.ops import repairs
from spark_jobs.ops.terms import UNDO
from spark_jobs.repair.manifest import Manifest, read_manifest
from spark_jobs.runs.preflight import refuse_restored
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.storage.root.paths import Paths


ENDED = frozenset({"rejected", "undone", "failed"})
"""States after which a repair is not swapped in."""


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


def refuse_moved_on(paths: Paths, claim: Claim) -> None:
    """Raise what refuse_foreign does. Also StagingStale if a swap's generation has changed since:
    an undo gives back rows that the table had before. And RepairOverlapped.
    """
    known, manifest = refuse_foreign(paths, claim), claim.manifest
    if not claim.repair_id.endswith(UNDO) and manifest.generation != known.generation:
        raise _stale(claim, f"{manifest.pipeline} was rewound since")
    _refuse_overlapped(paths, known, claim)


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
    if not table_of(paths).exists():
        raise _stale(claim, f"there is no table at {paths.table}")
    if table_of(paths).identifier() != manifest.table_id:
        raise _stale(claim, f"{paths.table} is another table: it was dropped and made again")
    refuse_restored(paths, read_cursor(paths.cursor).judged_table_version)
    return known


def refuse_withdrawn(paths: Paths, claim: Claim) -> None:
    """Raise SwapRefused if a person has declined the repair since its rows were read, StagingStale
    if it was staged again, RepairUnknown while it is.
    """
    now = read_manifest(paths, claim.manifest.repair_id)
    if not claim.repair_id.endswith(UNDO):
        refuse_ended(now, None)
    if now != claim.manifest:
        raise StagingStale.staged_again(repair=claim.repair_id)


def _refuse_overlapped(paths: Paths, known: Identity, claim: Claim) -> None:
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


def refuse_unready(manifest: Manifest, row: Row | None) -> None:
    """Raise SwapRefused for a repair that has ended or changes nothing, ApprovalMissing for one
    that waits for a person.
    """
    name = manifest.pipeline
    if not KINDS[manifest.kind].swaps:
        raise SwapRefused.kind_never_swaps(
            repair=manifest.repair_id,
            kind=manifest.kind,
            pipeline=name,
        )
    refuse_ended(manifest, row)
    if not manifest.approved:
        raise ApprovalMissing.not_approved(
            repair=manifest.repair_id,
            pipeline=name,
            unexplained=manifest.unexplained,
        )


def refuse_ended(manifest: Manifest, row: Row | None) -> None:
    """Raise SwapRefused for a repair that has ended: nobody need be asked about it."""
    state = row["state"] if row else "staged"
    if state == "staged" and manifest.rejected_by:  # the No was killed before its row
        state = "rejected"
    if state not in ENDED:
        return
    if state == "rejected":
        raise SwapRefused.answered_no(
            repair=manifest.repair_id,
            pipeline=manifest.pipeline,
            answer=_no(manifest),
        )
    raise SwapRefused.repair_ended(
        repair=manifest.repair_id,
        pipeline=manifest.pipeline,
        state=state,
    )


def _no(manifest: Manifest) -> str:
    """A No that was killed behind its row has noted neither who nor when."""
    if manifest.rejected_by is None or manifest.rejected_at is None:
        return "a person declined it"
    return f"{manifest.rejected_by} declined it at {manifest.rejected_at:%F %H:%M:%S} UTC"


def refuse_done(paths: Paths, repair_id: str) -> None:
    """Raise StagingStale for a repair that is or was in the table, SwapRefused for one that a
    person has declined.
    """
    row = repairs.one(paths.root, paths.pipeline, repair_id)
    if row is not None and row["state"] not in {"staged", "failed"}:
        if row["state"] == "rejected":
            refuse_ended(read_manifest(paths, repair_id), row)
        told = f" {publisher(paths)}, if none has." if row["state"] == "swapped" else ""
        raise StagingStale.repair_ended(
            repair=repair_id, pipeline=paths.pipeline, state=row["state"], told=told
        )


def withdraw(paths: Paths, repair_id: str, run_id: str) -> None:
    """Let nobody swap in what an earlier try has staged: it is about to be replaced, and so is what
    ops.repairs says of it. Under the pipeline's lease, which a swap has too.

    Raises what `refuse_done` does, and LeaseHeld.
    """
    manifest = paths.staging(repair_id) / "manifest.json"
    if not manifest.exists():
        return
    with leased(paths, run_id):
        refuse_done(paths, repair_id)
        manifest.unlink(missing_ok=True)
