"""Unready: what keeps a staged repair out of the table, in words: nobody has approved it, it has
ended, its spec has lost its ranges, or is another one now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.analysis.ranged import unranged
from spark_jobs.errors import ApprovalMissing, StagingStale, SwapRefused
from spark_jobs.messages.kind import KINDS
from spark_jobs.repair.find.plan import digest

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row
    from spark_jobs.repair.manifest import Manifest
    from spark_jobs.spec import Pipeline

ENDED = frozenset({"rejected", "undone", "failed"})
"""States after which a repair is not swapped in."""


def refuse_unready(manifest: Manifest, row: Row | None) -> None:
    """Raise SwapRefused for a repair that has ended or changes nothing, ApprovalMissing for one
    that waits for a person.
    """
    name = manifest.pipeline
    if not KINDS[manifest.kind].swaps:
        raise SwapRefused(
            f"repair {manifest.repair_id} is of the kind {manifest.kind}, of which no row is "
            "swapped in.",
            f"See what it found: sluice show repairs --pipeline {name}",
        )
    refuse_ended(manifest, row)
    if not manifest.approved:
        raise ApprovalMissing(
            f"repair {manifest.repair_id} of {name} changes {manifest.unexplained} rows that no "
            "record explains, or is one of those that a person approves; nobody has.",
            "Approve it in Airflow, or give the same command again on the command line.",
        )


def refuse_ended(manifest: Manifest, row: Row | None) -> None:
    """Raise SwapRefused for a repair that has ended: nobody need be asked about it."""
    if row is None or row["state"] not in ENDED:
        return
    what = f"repair {manifest.repair_id} of {manifest.pipeline} is {row['state']}"
    again = (
        "compute the range again, as a repair of its own. In Airflow, clear the task `plan` of the "
        "run: the rest follows."
    )
    if row["state"] != "rejected":
        raise SwapRefused(f"{what}.", f"{again[0].upper()}{again[1:]}")
    raise SwapRefused(
        f"{what}: {_no(manifest)}, and the table stays as it is.",
        f"If that is right, nothing is left to do. To be asked again, {again}",
    )


def _no(manifest: Manifest) -> str:
    """Who said it, and when; a No that was killed behind its row has noted neither."""
    if manifest.rejected_by is None or manifest.rejected_at is None:
        return "a person declined it"
    return f"{manifest.rejected_by} declined it at {manifest.rejected_at:%F %H:%M:%S} UTC"


def refuse_unranged(spec: Pipeline, manifest: Manifest) -> None:
    """Raise SwapRefused where today's spec says that no range can be computed by itself: it takes
    back what the rows were computed by.
    """
    if why := unranged(spec):
        raise SwapRefused(
            f"repair {manifest.repair_id} of {manifest.pipeline} is of ranges, and since it was "
            f"computed the spec says that none can be computed by itself: {why}.",
            "If that is right, nothing is left to do: the table stays as it is. Otherwise let the "
            "spec have again what it had, and swap it in: in Airflow, clear the task `approve`.",
        )


def refuse_other_spec(spec: Pipeline, manifest: Manifest) -> None:
    """Raise StagingStale where spec or code are not those by which the rows were computed: drains
    write others by now.
    """
    if manifest.spec_digest and manifest.spec_digest != digest(spec):
        raise StagingStale(
            f"{manifest.pipeline}: its spec or its code changed since repair "
            f"{manifest.repair_id} was computed, so its rows may be others than a drain's.",
            "Compute the range again. In Airflow, clear the task `plan` of the run.",
        )
