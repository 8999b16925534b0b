"""Switch: the place that was computed beside becomes the live one, or the one before again.

All preconditions first (ready.py); then live.json says it, in one write. No row and no checkpoint
is moved.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from spark_jobs.admin.rebuild.ready import ready, ready_back
from spark_jobs.checkpoint.notes.live import Live, Replaced, following as takes_turn
from spark_jobs.checkpoint.notes.rebuild import read_begun
from spark_jobs.errors import CheckpointBroken, RebuildRefused
from spark_jobs.journal.change import Change, Scene
from spark_jobs.journal.going_live import GoesLive, go_live
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held

LOG = logging.getLogger(__name__)


def switch(spec: Pipeline, following: Pipeline, root: str, run_id: str) -> Live:
    """Let NEXT's place, which a rebuild has filled, drain from now on. `spec` is the one that
    drains now.

    Raises RebuildRefused, LeaseHeld, LeaseLost, or what is wrong with either checkpoint; then
    nothing is changed.
    """
    live = Paths(root, spec)
    require_writable(live)
    if (begun := read_begun(live)) is None:
        raise RebuildRefused.no_rebuild(pipeline=spec.name)
    beside = Paths(root, following, begun.place)
    # Both leases: a run that went on beside would write into the live table without the live lease.
    with leased(live, run_id) as held, leased(beside, run_id):
        before = Replaced(
            version=spec.state.version,
            generation=ready(live, beside).generation,
            folder=live.place.folder,
            table=live.place.table,
        )
        return _go(live, beside, held, run_id, before)


def switch_back(spec: Pipeline, former: Pipeline, root: str, run_id: str) -> Live:
    """Let the place drain again that the last switch replaced, with the rows that it has.

    `spec` is the one that drains now, `former` the version before's. Raises as `switch`.
    """
    live = Paths(root, spec)
    require_writable(live)
    with leased(live, run_id) as held:
        return _go(live, ready_back(live, former).paths, held, run_id)


def _go(live: Paths, to: Paths, held: Held, run_id: str, before: Replaced | None = None) -> Live:
    fact = takes_turn(live, to.state_version, to.place, before)
    carry_out(SWITCH, GoesLive(live=fact), live, held, run_id)
    LOG.info("%s: state version %d drains, with table %s", live.pipeline, fact.version, fact.table)
    return fact


def end_rebuild(facts: GoesLive, scene: Scene) -> None:
    """Let no run work in the place that is live now as in one of a rebuild. On the way back
    another rebuild may be half done, and stays.
    """
    with suppress(CheckpointBroken):  # torn: no switch went by it, and --discard removes it
        if (begun := read_begun(scene.paths)) and begun.folder == facts.live.folder:
            begun.end(scene.paths, scene.held)


SWITCH = Change(
    "switch",
    GoesLive,
    lambda facts: f"the switch to state version {facts.live.version}",
    (go_live, end_rebuild),
    of_place=True,
)
