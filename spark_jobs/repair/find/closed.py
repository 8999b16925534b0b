"""Closed: what is certain of the table before a repair begins, and that no other checkpoint wrote
it.

A raised `state.version` makes such a table, and a checkpoint that was deleted or moved. The drain
that would have to come first is refused for it (table/port.py), but behind a JVM.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.errors import AccountBehind, CheckpointForeign, RangeOpen
from spark_jobs.runs.preflight import Preflight
from spark_jobs.source.micro_batch import Offsets
from spark_jobs.storage.root.live_place import FOLDER
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.analysis.ranged import Ranged
    from spark_jobs.storage.root.paths import Paths


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


def refuse_foreign(spec: Pipeline, paths: Paths, generation: str | None) -> None:
    """Raise CheckpointForeign if another generation wrote the table. `generation` is the
    checkpoint's, which has no batch; None if there is no checkpoint.
    """
    wrote = table_of(paths).generation()
    if wrote is None or wrote == generation:
        return
    mine, versions = spec.state.version, _versions(paths)
    theirs = next((each for each, known in versions.items() if wrote in known), None)
    has = f"{spec.name}: state version {mine} has no batch, and {paths.table} was written by "
    if theirs is None:
        raise CheckpointForeign.other_generation(
            has=has, wrote=wrote, folder=paths.above, pipeline=spec.name
        )
    # A version that has a folder was used before, and a rebuild refuses it.
    free = max(mine, *versions) + 1
    raise CheckpointForeign.other_version(has=has, theirs=theirs, free=free, pipeline=spec.name)


def _versions(paths: Paths) -> dict[int, tuple[str, ...]]:
    found = dict[int, tuple[str, ...]]()
    for folder in paths.above.iterdir() if paths.above.exists() else ():
        if number := FOLDER.fullmatch(folder.name):
            here = _generations(folder / paths.identity.name)
            found[int(number[1])] = (*found.get(int(number[1]), ()), *here)
    return found


def _generations(identity: UPath) -> tuple[str, ...]:
    try:
        return Identity.read(identity).generations if identity.exists() else ()
    except ValueError:  # it does not parse
        return ()
