"""Rebuild: what a rebuild would do, without a JVM: from which offsets, what Kafka has no longer,
and how far it is.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.known_topics import with_known_topics
from spark_jobs.checkpoint.notes.live import read_live
from spark_jobs.checkpoint.notes.rebuild import Begun, read_begun
from spark_jobs.errors import RebuildRefused, RecordsUnreachable, TopicRemade
from spark_jobs.ops import ops_tables
from spark_jobs.rebuild.beside import (
    beside_paths,
    older_root,
    refuse_other,
)
from spark_jobs.rebuild.older import Older, begun_identity, older, put_in, read_to, unusable
from spark_jobs.rebuild.starting import since
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.plan import offsets_in
from spark_jobs.repair.offsets.archived import archived_or_why, located
from spark_jobs.repair.offsets.beginning import beginning
from spark_jobs.root.paths import Paths
from spark_jobs.settings.installation import Settings
from spark_jobs.source.micro_batch import Offsets
from spark_jobs.source.port import SourceState
from spark_jobs.source.sources import source_of
from spark_jobs.source.union import same_topics
from spark_jobs.spec import Pipeline

Lost = tuple[tuple[int, int, int], ...]
"""Partition, first and last offset of what the live table was made from, and the rebuild has not
and cannot get from Kafka any more.
"""


class RebuildPlan(NamedTuple):
    """What a rebuild would do."""

    begun: Begun | None
    topic_id: str
    lost: Lost
    left: int
    """Offsets that are still to be read."""
    lines: tuple[str, ...]


def next_of(spec: Pipeline, live: Pipeline, root: str) -> Pipeline:
    """The spec that a rebuild computes: NEXT. `live` is the one that drains.

    Raises RebuildRefused without one, or after the switch to it; SpecInvalid.
    """
    following = registry.load_next(spec.name)
    if following is None:
        raise RebuildRefused.no_next(pipeline=spec.name, free=live.state.version + 1)
    if following.state.version == live.state.version:
        raise RebuildRefused.next_is_live(pipeline=spec.name, version=live.state.version)
    return with_known_topics(following, root, live)


def versions_back(spec: Pipeline, root: str) -> tuple[Pipeline, Pipeline]:
    """A spec with the live state version, and the spec of the version before the last switch: SPEC
    or NEXT. `spec` is SPEC, which may be of either. Raises RebuildRefused.
    """
    fact = read_live(Paths(root, spec))
    if fact is None or fact.before is None:
        raise RebuildRefused.no_switch(pipeline=spec.name)
    wanted = fact.before.version
    former = spec if spec.state.version == wanted else registry.load_next(spec.name)
    if former is None or former.state.version != wanted:
        raise RebuildRefused.former_spec_absent(pipeline=spec.name, wanted=wanted)
    # Of what is taken back only the state version is asked for: its spec may be gone.
    state = spec.state.model_copy(update={"version": fact.version})
    return spec.model_copy(update={"state": state}), former


def plan_rebuild(spec: Pipeline, following: Pipeline, settings: Settings) -> RebuildPlan:
    """Look, and write nothing. `spec` is the one that drains.

    Raises RebuildRefused, TopicRemade, CheckpointBroken, and what the broker refuses.
    """
    paths = Paths(settings.root, spec)
    known = read_identity(paths)
    if known is None or not known.table_id:
        raise RebuildRefused.never_drained(pipeline=spec.name)
    if older_root(paths).exists():
        raise RebuildRefused.older_rebuild(folder=older_root(paths), pipeline=spec.name)
    topic = source_of(spec, settings).state()
    if not same_topics(known.topic_id, topic.id):
        raise TopicRemade.remade_since_table(topic=spec.inputs.name, pipeline=spec.name)
    topic = _starting(topic, spec, following, settings)
    begun = read_begun(paths)
    if begun:
        refuse_other(begun, following, topic.id)
    side = beside_paths(paths, following)
    done = _done(side, topic)
    left = sum(latest - done.get(p, topic.begins.get(p, 0)) for p, latest in topic.latest.items())
    # Behind no batch of NEXT, nothing could be computed from the archive; and once it is, the
    # archive may lose it.
    wanted = (left or read_to(side)) and not put_in(side, following.name)
    archived = older(paths, side, spec, following, topic.earliest) if wanted else {}
    lost = _lost(paths, known, topic, side, following, archived)
    lines = _lines(paths, (spec, following), begun, topic, (known, lost, archived), left)
    return RebuildPlan(begun, topic.id, lost, left, tuple(lines))


def refuse_lost(spec: Pipeline, plan: RebuildPlan) -> None:
    """Raise RecordsUnreachable if Kafka has no longer all that the live table was made from, and
    that the rebuild has not read yet.
    """
    if plan.lost:
        count = sum(last - first + 1 for _, first, last in plan.lost)
        raise RecordsUnreachable.gone_since_table(pipeline=spec.name, count=count)


def _starting(
    topic: SourceState, spec: Pipeline, following: Pipeline, settings: Settings
) -> SourceState:
    if [each.starting for each in spec.inputs] == [t.starting for t in following.inputs]:
        return topic
    return topic._replace(starting=source_of(following, settings).state().starting)


def _left_out(paths: Paths, known: Identity, topic: SourceState, following: Pipeline) -> Offsets:
    of, several = following.inputs[0], following.inputs.several
    found = {} if several or not of.starting else since(paths.root, of, known.topic_id)
    exact = {p: at for p, at in topic.starting.items() if at > topic.earliest.get(p, at)}
    return {**found, **exact}


def _lost(
    paths: Paths,
    known: Identity,
    topic: SourceState,
    side: Paths,
    following: Pipeline,
    archived: Older,
) -> Lost:
    begun, committed = begun_identity(side), Checkpoint(side.checkpoint).committed()
    # Before it is put in, what the archive had is as good as not read.
    drained = not put_in(side, side.pipeline)
    first = beginning(side, begun.generations, drained=drained) if begun and committed else {}
    done = Checkpoint(side.checkpoint).batch(committed[-1]).end if first else {}
    read = read_to(paths)
    found = []
    left_out = _left_out(paths, known, topic, following)
    for p, oldest in sorted(beginning(paths, known.generations).items()):
        began = max(oldest, left_out.get(p, oldest))
        earliest = topic.earliest.get(p, began)
        end = read.get(p, began)  # what comes behind is in no live row either
        begins = min(first.get(p, topic.begins.get(p, began)), end)
        found.append((p, began, (archived[p][0] if p in archived else begins) - 1))
        found.append((p, done.get(p, earliest), min(earliest, end) - 1))
    return tuple(span for span in found if span[2] >= span[1])


def _lines(
    paths: Paths,
    specs: tuple[Pipeline, Pipeline],
    begun: Begun | None,
    topic: SourceState,
    live: tuple[Identity, Lost, Older],
    left: int,
) -> list[str]:
    (spec, following), (known, lost, archived) = specs, live
    shown = following.inputs.shown
    name = following.name
    side = beside_paths(paths, following)
    committed, done = Checkpoint(side.checkpoint).committed(), _done(side, topic)
    whole = sum(latest - topic.begins.get(p, 0) for p, latest in topic.latest.items())
    found = [
        f"{name}: rebuild of state version {following.state.version} beside the live table, "
        f"which goes on with version {spec.state.version}",
        f"  reads {left:,} of {whole:,} offsets of topic {following.inputs.name}: "
        + ", ".join(f"partition {shown(p)} from {done.get(p, 0)}" for p in sorted(topic.latest)),
        f"  into a table of its own, {side.table}",
    ]
    if left and following.max_offsets_per_batch is None:
        found.append(
            "  in one batch, which begins again if it is cut off: max_offsets_per_batch of NEXT "
            "makes several"
        )
    if begun:
        state = f"batch {committed[-1]} is done" if committed else "no batch is done"
        found.append(f"  goes on: {begun.who} began it on {begun.began:%F %H:%M} UTC, {state}")
    if held := holder(side.lease) if begun else None:
        found.append(f"  at work: {held}")
    if lost:
        until = _lost_until(paths, known, lost)
        found.append(
            "  Kafka has no longer all that the live table was made from: "
            + ", ".join(f"partition {shown(p)}: {a} to {b}" for p, a, b in lost)
            + (f"; their event times end at {until:%F %H:%M:%S} UTC" if until else "")
        )
        found += _in_archive(paths, spec, following, topic, lost)
    if archived:
        found.append(
            f"  then {sum(stop - first for first, stop in archived.values()):,} that Kafka has no "
            "longer, from the topic's archive"
        )
    if not lost and not archived:
        found.append("  Kafka has every record that the live table was made from")
    return found


def _done(side: Paths, topic: SourceState) -> Offsets:
    return read_to(side) or topic.begins


def _in_archive(
    paths: Paths, spec: Pipeline, following: Pipeline, topic: SourceState, lost: Lost
) -> list[str]:
    has, broken = archived_or_why(paths.root, spec.inputs, topic.id)
    if broken:
        return [f"  the topic's archive is not read: {broken.what} {broken.remedy}"]
    count = sum(offsets_in(located({p: ((a, b + 1),)}, has, {}).archive) for p, a, b in lost)
    if not count:
        return []
    why = unusable(spec, following) or "not without a hole up to those that Kafka has"
    return [f"  the topic's archive has {count:,} of them, which a rebuild cannot use: {why}"]


def _lost_until(paths: Paths, known: Identity, lost: Lost) -> datetime | None:
    which = " OR ".join(f'("partition" = {p} AND first_offset <= {b})' for p, _, b in lost)
    [row] = ops_tables.query(
        paths.root,
        "slices",
        f"SELECT max(last_event_time) AS until FROM slices WHERE pipeline = '{paths.pipeline}' "
        f"AND {ops_tables.among('generation', known.generations)} AND ({which})",
    ).to_pylist()
    until: datetime | None = row["until"]
    return until
