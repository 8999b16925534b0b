"""Closed: what is certain of the table before a repair begins."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import AccountBehind, RangeOpen
from spark_jobs.repair.find.foreign import refuse_foreign
from spark_jobs.runs.preflight import Preflight
from spark_jobs.source.micro_batch import Offsets

if TYPE_CHECKING:
    from spark_jobs.analysis.ranged import Ranged
    from spark_jobs.root.paths import Paths


class Closed(NamedTuple):
    """It, as of a batch."""

    found: Preflight
    until: datetime
    """No drain writes a row before this position any more."""
    batch: int
    horizon: Offsets


def closed_by(way: Ranged, paths: Paths, found: Preflight) -> Closed:
    """Raises RangeOpen before the first batch, CheckpointForeign if the table has batches of
    another checkpoint, AccountBehind while one has no account.
    """
    name, committed = way.spec.name, found.checkpoint.committed()
    if not committed:
        refuse_foreign(way.spec, paths, found.identity.generation)
        raise RangeOpen.nothing_committed(pipeline=name)
    if found.cursor.audited < committed[-1] or found.checkpoint.planned()[-1] != committed[-1]:
        raise AccountBehind.not_accounted(pipeline=name, batch=found.checkpoint.planned()[-1])
    batch = found.checkpoint.batch(committed[-1])
    until = way.closed_until(batch.watermark)
    if until is None:
        raise RangeOpen.no_watermark(pipeline=name)
    return Closed(found, until, batch.id, batch.end)
