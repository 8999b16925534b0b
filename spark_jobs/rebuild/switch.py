"""Switch: the place that was computed beside becomes the live one, or the one before again.

All preconditions first; then live.json says it, in one write. No row and no checkpoint is moved.
"""

from __future__ import annotations

import logging

from spark_jobs.checkpoint.notes.live import Live, Replaced, following as takes_turn
from spark_jobs.checkpoint.notes.rebuild import read_begun
from spark_jobs.errors import RebuildRefused
from spark_jobs.journal.change import Change, Scene
from spark_jobs.journal.going_live import GoesLive, go_live
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.rebuild.beside import beside_paths
from spark_jobs.rebuild.ready import place_before, ready, ready_back
from spark_jobs.root.paths import Paths
from spark_jobs.spec import Pipeline
from spark_jobs.storage.object_store import require_writable

LOG = logging.getLogger(__name__)


def switch(spec: Pipeline, following: Pipeline, root: str, run_id: str) -> Live:
    """Let NEXT's place, which a rebuild has filled, drain from now on. `spec` is the one that
    drains now.

    Raises RebuildRefused, LeaseHeld, LeaseLost, or what is wrong with either checkpoint; then
    nothing is changed.
    """
    live = Paths(root, spec)
    require_writable(live)
    if read_begun(live) is None:
        raise RebuildRefused.no_rebuild(pipeline=spec.name)
    beside = beside_paths(live, following)
    # Both leases: a run that went on beside would write into the live table without the live lease.
    with leased(live, run_id) as held, leased(beside, run_id):
        known = ready(live, beside)
        before = Replaced(
            version=spec.state.version,
            generation=known.generation,
            folder=live.place.folder,
            table=live.place.table,
        )
        fact = takes_turn(live, following.state.version, beside.place, before)
        carry_out(SWITCH, GoesLive(live=fact), live, held, run_id)
    return _ended(spec, fact)


def switch_back(spec: Pipeline, former: Pipeline, root: str, run_id: str) -> Live:
    """Let the place drain again that the last switch replaced, with the rows that it has.

    `spec` is the one that drains now, `former` the version before's. Raises as `switch`.
    """
    live = Paths(root, spec)
    require_writable(live)
    with leased(live, run_id) as held:
        ready_back(live, former)
        fact = takes_turn(live, former.state.version, place_before(live, former))
        carry_out(BACK, GoesLive(live=fact), live, held, run_id)
    return _ended(spec, fact)


def end_rebuild(facts: GoesLive, scene: Scene) -> None:
    """Let no run work in the place as one of a rebuild."""
    del facts
    if begun := read_begun(scene.paths):
        begun.end(scene.paths, scene.held)


def _ended(spec: Pipeline, fact: Live) -> Live:
    LOG.info("%s: state version %d drains, with table %s", spec.name, fact.version, fact.table)
    return fact


SWITCH = Change(
    "switch",
    GoesLive,
    lambda facts: f"the switch to state version {facts.live.version}",
    (go_live, end_rebuild),
    of_place=True,
)
BACK = Change(
    "back",
    GoesLive,
    lambda facts: f"the way back to state version {facts.live.version}",
    (go_live,),
    of_place=True,
)
