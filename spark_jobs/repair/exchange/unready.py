"""Unready: what keeps a staged repair out of the table: nobody has approved it, or it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.errors import ApprovalMissing, SwapRefused
from spark_jobs.messages.kind import KINDS

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.repair.manifest import Manifest

ENDED = frozenset({"rejected", "undone", "failed"})
"""States after which a repair is not swapped in."""


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
