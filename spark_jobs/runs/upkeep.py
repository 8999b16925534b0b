"""Upkeep: what a run does at its end, so that later runs find no more state than they need."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.purge import purge

if TYPE_CHECKING:
    from spark_jobs.run import Run

LOG = logging.getLogger(__name__)


def purge_state(run: Run) -> None:
    """Remove the state that no batch needs any more.

    A failure is logged: the run has ended well in all else, and the next one removes the same.
    """
    try:
        run.lease.confirm()  # without it, another run may write state now
        if removed := purge(run.checkpoint):
            LOG.info("%s: removed %d files of state that no batch needs", run.spec.name, removed)
    except Exception as error:  # noqa: BLE001 - whatever the file system or Spark says
        LOG.warning("%s: could not purge the state: %s", run.spec.name, error)
