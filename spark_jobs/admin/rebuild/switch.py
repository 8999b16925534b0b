"""Switch: the place that was computed beside becomes the live one, or the one before again.

All preconditions first; then live.json says it, in one write. No row and no checkpoint
is moved.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.admin.rebuild.needs import read_to
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.notes.live import Live, Replaced, following as takes_turn, read_live
from spark_jobs.checkpoint.notes.rebuild_note import read_begun
from spark_jobs.errors import CheckpointBroken, RebuildRefused, RecordsUnreachable, TopicRemade
from spark_jobs.journal.change import Change, GoesLive, Scene, go_live
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.repair.find.plan import offsets_in, places
from spark_jobs.repair.offsets.archived import archived_or_why, located
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import same_topics, source_of
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.live_place import Place
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held


class Former(NamedTuple):
    """The place to which one goes back."""

    paths: Paths
    identity: Identity
    audited: int
    """Its newest batch that has its account."""


def ready(live: Paths, beside: Paths) -> Identity:
    """Whose checkpoint drains now, if what was computed beside may take its turn. Both leases are
    held. Raises RebuildRefused.
    """
    known = _live_identity(live)
    following, committed = read_identity(beside), Checkpoint(beside.checkpoint).committed()
    if following is None or not committed:
        raise RebuildRefused.no_batch_yet(pipeline=live.pipeline)
    _refuse_unfinished(beside, committed[-1])
    if missing := behind(live, beside):
        raise RebuildRefused.behind_live(pipeline=live.pipeline, missing=missing)
    excised, taken = ({e.id for e in read_failing(of.failing).excised} for of in (live, beside))
    if lacks := sorted(excised - taken):
        raise RebuildRefused.excisions_lacking(pipeline=live.pipeline, excisions=", ".join(lacks))
    return known


def ready_back(live: Paths, former: Pipeline) -> Former:
    """The place before the last switch, if it may drain again. `live` are the paths of what drains
    now. Raises RebuildRefused.
    """
    fact, again = read_live(live), "Rebuild the former logic from Kafka, as NEXT."
    if fact is None or (before := fact.before) is None or before.version != former.state.version:
        raise RebuildRefused.no_switch(pipeline=former.name)
    if not before.folder:
        raise RebuildRefused.older_switch(pipeline=former.name, again=again)
    _live_identity(live)
    paths = Paths(str(live.root), former, Place(before.folder, before.table))
    if not paths.identity.exists() or not table_of(paths).exists():
        raise RebuildRefused.former_removed(
            pipeline=former.name, folder=paths.version, table=paths.table, again=again
        )
    kept = Identity.read(paths.identity)
    if kept.generation != before.generation or kept.table_id != table_of(paths).identifier():
        raise RebuildRefused.former_replaced(
            pipeline=former.name, folder=paths.version, table=paths.table, again=again
        )
    return Former(paths, kept, read_cursor(paths.cursor).audited)


def behind(live: Paths, beside: Paths) -> int:
    """Offsets that the live checkpoint has read and the one beside has not."""
    return read_to(beside).count(read_to(live))


def _live_identity(live: Paths) -> Identity:
    known = read_identity(live)
    if known is None or not known.table_id or table_of(live).identifier() != known.table_id:
        raise RebuildRefused.live_table_foreign(
            table=live.table, checkpoint=live.checkpoint, pipeline=live.pipeline
        )
    if held := holder(live.staging_lease):
        raise RebuildRefused.repair_computing(pipeline=live.pipeline, holder=held)
    return known


def _refuse_unfinished(beside: Paths, newest: int) -> None:
    """Raise RebuildRefused unless every batch is accounted for, and every row has passed."""
    cursor = read_cursor(beside.cursor)
    begun = Checkpoint(beside.checkpoint).planned()[-1] != newest
    passed = cursor.judged == cursor.audited == newest and cursor.judged_table_version is not None
    if begun or not passed or _changed(beside, cursor.judged_table_version or 0):
        raise RebuildRefused.unjudged(
            pipeline=beside.pipeline, first=cursor.judged + 1, newest=newest
        )


def _changed(beside: Paths, judged: int) -> bool:
    newest = table_of(beside).version()
    return newest > judged and history.rows_changed(table_of(beside), judged, newest)


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


class Back(NamedTuple):
    """What the way back means for the records that were drained since the switch."""

    again: int
    """Offsets that the live checkpoint has read, and the former one has not."""
    lost: Parts
    """Those behind the former checkpoint that Kafka has no longer."""
    lines: tuple[str, ...]


def plan_back(live: Pipeline, former: Pipeline, settings: Settings) -> Back:
    """Look, and write nothing. `live` is the spec that drains, `former` the version before's.

    Raises RebuildRefused, TopicRemade, and what the broker refuses: without it nobody knows what
    would be lost.
    """
    ours = Paths(settings.root, live)
    paths, known, audited = ready_back(ours, former)
    topic = source_of(former, settings).state()
    if not same_topics(known.topic_id, topic.id):
        raise TopicRemade.remade_since_switch(topic=former.inputs.name, pipeline=former.name)
    end = Checkpoint(paths.checkpoint).batch(audited).end if audited >= 0 else Positions()
    again = end.count(read_to(ours))
    lost = end.parts(topic.earliest)
    told = f"  its next drain reads {again:,} offsets again that were drained since"
    if not lost:
        return Back(again, lost, (f"{told}; Kafka has every one that it needs",))
    has, _ = archived_or_why(paths.root, former.inputs, topic.id)
    there = offsets_in(located(lost, has, Positions()).archive)
    lines = (
        told,
        f"  Kafka has no longer {offsets_in(lost):,} that it needs: "
        + places(lost, former.inputs.shown),
        f"  the topic's archive has {there:,} of them",
    )
    return Back(again, lost, lines)


def refuse_lost(former: Pipeline, plan: Back) -> None:
    """Raise RecordsUnreachable if the way back loses records."""
    if not plan.lost:
        return
    skip = (
        ""
        if former.on_lost_records == "skip"
        else " Then its drains are refused (RECORDS_GONE) until the spec has "
        "on_lost_records='skip'."
    )
    raise RecordsUnreachable.gone_since_switch(
        pipeline=former.name, offsets=offsets_in(plan.lost), skip=skip
    )
