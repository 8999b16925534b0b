"""Ties aside: the changes that a Latest refuses, since others have their place. The sink has found
them (sink/keyed/ties.py); here they become malformed, and the batch runs again without them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.notes.failing import FailingRecord, read_failing
from spark_jobs.errors import RowRefused
from spark_jobs.runs.failures.data_error import TIES

if TYPE_CHECKING:
    from spark_jobs.errors import SluiceError
    from spark_jobs.run import Run

LOG = logging.getLogger(__name__)
MOST_ASIDE: Final = 100_000
"""Of one batch: the decoder's tasks have them in memory."""


def are_ties(problem: SluiceError) -> bool:
    """Whether it says which changes are tied."""
    return isinstance(problem, RowRefused) and problem.reason == "changes_tied"


def set_ties_aside(run: Run, problem: SluiceError, audited: int) -> int:
    """Store those that the problem names, before the planned batch runs again; the batch's id.

    Raises the problem if they are known already, or too many.
    """
    batch = run.checkpoint.batch(run.checkpoint.planned()[-1]).id
    known = read_failing(run.target.failing)
    where = f"step {len(run.spec.steps)} ({run.spec.steps[-1].kind})"
    order_by = problem.parameters["order_by"]
    why = f"another change of the key has its {order_by}, and other contents"
    found = [
        FailingRecord(
            batch=batch, partition=partition, offset=offset, reason=f"{where}: {TIES}: {why}"
        )
        for partition, offset in _places(str(problem.parameters["records"]))
        if (partition, offset) not in known.reasons
    ]
    if not found or len(known.of(batch)) + len(found) > MOST_ASIDE:
        raise problem
    known.with_more(found, audited).put(run.target.failing, run.lease)
    LOG.warning(
        "%s: batch %d: %d changes are tied with others, and malformed: `sluice show quarantine`",
        run.spec.name,
        batch,
        len(found),
    )
    return batch


def _places(records: str) -> list[tuple[int, int]]:
    each = (place.split(":") for place in records.split())
    return [(int(partition), int(offset)) for partition, offset in each]
