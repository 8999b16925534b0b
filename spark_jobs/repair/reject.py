"""Reject: ends a staged repair that a person has declined."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.errors import RepairUnknown, SwapRefused
from spark_jobs.journal.change import has_journal
from spark_jobs.ops import repairs
from spark_jobs.repair.exchange.exchange import is_going_in
from spark_jobs.repair.manifest import read_manifest
from spark_jobs.repair.unnoted import unnoted

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths

LOG = logging.getLogger(__name__)


def reject(paths: Paths, repair_id: str, who: str) -> None:
    """Write to ops.repairs that it is rejected, and to its manifest by whom and when: it is not
    swapped in any more, and coverage does not say that it waits. Does nothing to one that is not
    staged.

    Raises SwapRefused if a swap of it has begun.
    """
    try:
        manifest = read_manifest(paths, repair_id)
    except RepairUnknown:  # no swap has had what it needs
        manifest = None
    left = () if has_journal(paths) else unnoted(paths)
    if is_going_in(paths, repair_id) or any(f.commit_id == repair_id for _, f in left):
        raise SwapRefused.swap_begun(repair=repair_id, pipeline=paths.pipeline)
    row = repairs.one(paths.root, paths.pipeline, repair_id)
    if row is None or row["state"] != "staged":
        state = "not recorded" if row is None else row["state"]
        LOG.warning("%s: repair %s is %s, and stays so", paths.pipeline, repair_id, state)
        return
    if manifest:  # first: a swap that has read it before finds another one before its commit
        answer = {"rejected_by": who, "rejected_at": datetime.now(UTC)}
        path = paths.staging(repair_id) / "manifest.json"
        manifest.model_copy(update=answer).write(path)
    if is_going_in(paths, repair_id):
        raise SwapRefused.swap_begun(repair=repair_id, pipeline=paths.pipeline)
    repairs.put(paths.root, [row | {"state": "rejected"}])
    LOG.info("%s: repair %s is rejected by %s", paths.pipeline, repair_id, who)
