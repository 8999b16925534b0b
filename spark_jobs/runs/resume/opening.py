"""Opening: what is settled and looked at under the lease, before a run reads its first record."""

from __future__ import annotations

import logging
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs import checks as expectations
from spark_jobs.checkpoint.added_topics import with_new_topics
from spark_jobs.checkpoint.identity import Present, read_identity
from spark_jobs.checkpoint.integrity import remove_orphan_checksums
from spark_jobs.checkpoint.run import Run
from spark_jobs.registry.fingerprint.fields import in_force
from spark_jobs.runs.preflight import cut, preflight
from spark_jobs.runs.resume.settlers import FIRST, LAST, Scene, SparkScene, settle
from spark_jobs.side.pins import pin
from spark_jobs.source.port import current_of, ends_of
from spark_jobs.source.sources import source_of
from spark_jobs.steps.sql import refuse_unsafe_checks, refuse_unsafe_trees
from spark_jobs.storage.pin import versions
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from threading import Thread

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.launch.session import Sessions
    from spark_jobs.runs.preflight import Preflight
    from spark_jobs.runs.run_outcome import RunOutcome
    from spark_jobs.runs.run_record import Note
    from spark_jobs.runs.watch.limits import StopRequest
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held

REMOVED = "spark_jobs.checkpoint.notes.removed:note_removed"
"""What notes the offsets that an archive lacks."""
LOG = logging.getLogger(__name__)


class Opened(NamedTuple):
    """A run that may begin to read."""

    run: Run
    found: Preflight
    """Checkpoint, table and topic, as they were looked at."""
    warming: Thread
    """Great Expectations is loaded in it meanwhile."""


def opened(
    spec: Pipeline,
    settings: Settings,
    cluster: Sessions,
    held: Held,
    note: Note,
    outcome: RunOutcome,
    stop: StopRequest,
) -> Opened:
    """Settle what is open, look at what belongs together, start Spark, hold the spec's SQL against
    it. The first session starts here, if nothing was refused before. Raises what the preflight
    raises, and Stopped.
    """
    now = Present(with_new_topics(spec, settings))
    settle(FIRST, Scene(now, Paths(settings.root, spec), held, outcome.run_id))
    paths = Paths(settings.root, now.spec)  # another place's, if the pipeline began anew
    found = _looked(now, settings, paths, outcome, held)
    note.reads(found.topic, held)
    remove_orphan_checksums(found.checkpoint)
    in_table = partial(found.target.table.newest_batch, found.target.owner)
    pinned = pin(found.checkpoint, in_table, now.spec, settings)
    outcome.inputs = versions(pinned.inputs)
    outcome.lap("settle")
    stop.raise_if_asked()
    warming = expectations.warm_up()
    ours = in_force(now.spec, found.identity.fingerprint)
    session = cluster.session(ours.state)
    if read_identity(paths) != found.identity:  # whose run has judged this SQL
        refuse_unsafe_trees(session, ours)
    else:
        refuse_unsafe_checks(session, ours)
    if current := current_of(now.spec, source_of(now.spec, settings)):
        current.keep(pinned.since, outcome.inputs, held)
    settle(
        LAST,
        SparkScene(now, paths, held, outcome.run_id, settings, found.identity, pinned, session),
    )
    run = Run(
        kind=outcome.kind,
        spec=ours,
        settings=settings,
        paths=paths,
        target=found.target,
        identity=_with_known_checks(found.identity, ours, warming),
        run_id=outcome.run_id,
        spark=session,
        lease=held,
        inputs=pinned.inputs,
    )
    outcome.lap("start")
    return Opened(run, found, warming)


def _looked(
    now: Present, settings: Settings, paths: Paths, outcome: RunOutcome, held: Held
) -> Preflight:
    """Checkpoint, table and topic, which belong to each other; and up to where this run reads, what
    it passes over and what waits, noted under the lease.
    """
    spec = now.spec
    ends, source = ends_of(spec, paths), source_of(spec, settings)
    noted = source.note(held)
    found, end = cut(preflight(now, source, paths, settings), ends, settings)
    for line in (*noted, *found.lines):
        LOG.warning("%s: %s", spec.name, line)
    outcome.lost = found.lost
    outcome.held = {
        p: waits.model_copy(update={"place": spec.inputs.shown(p)})
        for p, waits in found.topic.held.items()
    }
    held.confirm()  # without the lease, another run may write these files now
    if spec.is_archive:
        gone = {p: [(at, last + 1)] for p, (at, last) in found.lost.items()}
        resolve_name(REMOVED)(paths, gone, held)
    if ends and end:
        ends.note(end, held)
    outcome.end = end
    return found


def _with_known_checks(known: Identity, spec: Pipeline, warming: Thread) -> Identity:
    """Other checks than the last run's are looked at before a record is read: a misspelt one would
    be found too late.
    """
    declared = (*spec.output_checks, *spec.state_checks)
    digest = expectations.checks_digest(declared)
    if digest == known.checks:
        return known
    warming.join()
    expectations.refuse_misspelt(declared)
    return known.model_copy(update={"checks": digest})
