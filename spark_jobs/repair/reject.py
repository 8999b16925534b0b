"""Reject: ends a staged repair that a person has declined."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spark_jobs.ops import repairs

if TYPE_CHECKING:
    from spark_jobs.contract.paths import Paths

LOG = logging.getLogger(__name__)


def reject(paths: Paths, repair_id: str, who: str) -> None:
    """Write to ops.repairs that it is rejected: it is not swapped in any more, and coverage does
    not say that it waits. Does nothing to one that is not staged: its rows may be in the table.
    """
    row = repairs.one(paths.root, paths.pipeline, repair_id)
    if row is None or row["state"] != "staged":
        state = "not recorded" if row is None else row["state"]
        LOG.warning("%s: repair %s is %s, and stays so", paths.pipeline, repair_id, state)
        return
    repairs.put(paths.root, [row | {"state": "rejected"}])
    LOG.info("%s: repair %s is rejected by %s", paths.pipeline, repair_id, who)
