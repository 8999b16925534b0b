"""Undo: puts the rows back that a repair has replaced, by a swap of its own.

Not by Delta's RESTORE: that would take later drains back too. Nor by the table's older files:
VACUUM may have removed them. The staging has the rows that the repair wrote, and those it replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.contract.errors import StagingStale, SwapRefused
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.ranged import needed
from spark_jobs.ops import repairs
from spark_jobs.ops.repairs import UNDO
from spark_jobs.repair.exchange import Exchange, exchange
from spark_jobs.repair.manifest import Manifest, read_manifest
from spark_jobs.repair.preconditions import Claim
from spark_jobs.repair.staging import new_rows, old_rows
from spark_jobs.repair.swap import Swapped, complete, described, since

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from spark_jobs.contract.span import Span
    from spark_jobs.contract.spec import Pipeline
    from spark_jobs.ops.schema import Row


def undo(spec: Pipeline, root: str, repair_id: str, run_id: str) -> Swapped:
    """Give the table the rows from before a repair, and let its late and replayed
    records wait again.

    It may be repeated. A swap that was killed behind its commit is recorded first. Raises
    RepairUnknown if the staged rows are gone; SwapRefused if the repair is not in the table;
    RepairOverlapped if a later one has a range in common with it; StagingStale if somebody changed
    the rows since; LeaseHeld, LeaseLost or TableContended.
    """
    paths = Paths(root, spec)
    manifest = read_manifest(paths, repair_id)
    row = repairs.one(paths.root, spec.name, repair_id)
    if row is None or row["state"] not in {"swapped", "undone"}:
        complete(spec, root, repair_id, run_id)
        row = repairs.one(paths.root, spec.name, repair_id)
    begun = repairs.one(paths.root, spec.name, f"{repair_id}{UNDO}") is not None
    if row is None or row["state"] not in ({"swapped", "undone"} if begun else {"swapped"}):
        state = "not recorded" if row is None else row["state"]
        raise SwapRefused(
            f"repair {repair_id} of {spec.name} is {state}: none of its rows is in the table.",
            f"See the repairs: sluice show repairs --pipeline {spec.name}",
        )
    before = needed(spec)  # not behind the commit, where a failure would leave half an undo
    done = exchange(
        paths,
        Exchange(
            Claim(f"{repair_id}{UNDO}", manifest, row["table_version"]),
            lambda columns: _rows(paths, manifest, columns),
            lambda version: _record(paths, before, manifest, row, version),
            lambda columns: new_rows(paths, manifest, columns),
        ),
        run_id,
    )
    return Swapped(
        repair_id,
        "undone",
        done.version,
        manifest.removed,
        manifest.added,
        manifest.changed,
        0,
        done.passed,
        done.again,
        done.leased_seconds,
    )


def _rows(paths: Paths, manifest: Manifest, columns: pa.Schema) -> pa.Table:
    try:
        return old_rows(paths, manifest, columns)
    except ValueError as error:
        folder = paths.staging(manifest.repair_id)
        raise StagingStale(
            f"{folder / 'rows'} and {folder / 'changes'} do not belong together: {error}.",
            "Compute the range again.",
        ) from None


def _record(
    paths: Paths,
    before: Callable[[Span], Span],
    manifest: Manifest,
    row: Row,
    version: int | None,
) -> None:
    """Write the undo's own row, then that the repair is undone."""
    assert version is not None  # a repair that was swapped in has spans that differ
    undone = {
        "pipeline": manifest.pipeline,
        "repair_id": f"{manifest.repair_id}{UNDO}",
        "generation": manifest.generation,
        **described(manifest),
        "added": manifest.removed,
        "removed": manifest.added,
        "state": "swapped",
        "table_version": version,
        "table_version_before": version - 1,
        "swapped_at": since(paths, version),
    }
    repairs.put(paths.root, [undone])
    repairs.end(paths.root, [row], "undone", before)
