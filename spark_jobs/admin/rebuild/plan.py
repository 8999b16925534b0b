"""Rebuild: what a rebuild would do, without a JVM: from which offsets, what Kafka has no longer,
and how far it is.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.admin.rebuild.beside import beside_paths, refuse_other
from spark_jobs.admin.rebuild.needs import Needs, needs, read_to
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import holder
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.live import read_live, with_known_topics
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.checkpoint.notes.rebuild_note import Begun, read_begun
from spark_jobs.errors import RebuildRefused, RecordsUnreachable, TopicRemade
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.repair.find.plan import offsets_in, places
from spark_jobs.source.positions import Positions
from spark_jobs.source.sources import same_topics, source_of
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import SourceState
    from spark_jobs.source.positions import Parts
    from spark_jobs.spec import Pipeline


class RebuildPlan(NamedTuple):
    """What a rebuild would do."""

    begun: Begun | None
    topic_id: str
    lost: Parts
    """What the live table was made from, and nobody can give the rebuild any more."""
    archived: Parts
    """What it takes from the archive: one range of a partition."""
    left: int
    """Offsets that are still to be read from Kafka."""
    lines: tuple[str, ...]


def versions(spec: Pipeline, root: str) -> tuple[Pipeline, Pipeline]:
    """The spec that drains, and the one that a rebuild computes: NEXT. `spec` is SPEC.

    Raises RebuildRefused without a NEXT, or after the switch to it; SpecInvalid, VersionNotLive.
    """
    live, following = live_spec(spec, root, about=False), registry.load_next(spec.name)
    if following is None:
        raise RebuildRefused.no_next(pipeline=spec.name, free=live.state.version + 1)
    if following.state.version == live.state.version:
        raise RebuildRefused.next_is_live(pipeline=spec.name, version=live.state.version)
    return live, with_known_topics(following, root, live)


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

    Raises RebuildRefused, TopicRemade, CheckpointBroken, TableLacks, and what the broker refuses.
    """
    paths = Paths(settings.root, spec)
    side = beside_paths(paths, following)
    for each in (paths, side):
        table_of(each).require("query", "the comparison of a rebuild")
    known = read_identity(paths)
    if known is None or not known.table_id:
        raise RebuildRefused.never_drained(pipeline=spec.name)
    if (older := paths.root / "rebuilds" / paths.pipeline).exists():
        raise RebuildRefused.older_rebuild(folder=older)
    topic = source_of(spec, settings).state()
    if not same_topics(known.topic_id, topic.id):
        raise TopicRemade.remade_since_table(topic=spec.inputs.name, pipeline=spec.name)
    if [each.starting for each in spec.inputs] != [t.starting for t in following.inputs]:
        topic = topic._replace(starting=source_of(following, settings).state().starting)
    begun = read_begun(paths)
    if begun:
        refuse_other(begun, following, topic.id)
    done = topic.begins | (read_to(side) if begun else Positions())
    left = done.count(topic.latest)
    lacks = needs(paths, side, (spec, following), topic)
    lines = (
        f"{spec.name}: rebuild of state version {following.state.version} beside the live table, "
        f"which goes on with version {spec.state.version}",
        *_reads(following, side, topic, done, left),
        *(_begun(begun, side) if begun else ()),
        *_lacks(paths, following, lacks, known.generations),
    )
    return RebuildPlan(begun, topic.id, lacks.lost, lacks.archived, left, lines)


def refuse_lost(spec: Pipeline, plan: RebuildPlan) -> None:
    """Raise RecordsUnreachable if nobody can give the rebuild any more what the live table was made
    from.
    """
    if plan.lost:
        raise RecordsUnreachable.gone_since_table(pipeline=spec.name, count=offsets_in(plan.lost))


def _reads(
    following: Pipeline, side: Paths, topic: SourceState, done: Positions, left: int
) -> Iterator[str]:
    shown = following.inputs.shown
    whole = topic.begins.count(topic.latest)
    yield f"  reads {left:,} of {whole:,} offsets of topic {following.inputs.name}: " + ", ".join(
        f"partition {shown(p)} from {done.told(p)}" for p in topic.latest.partitions
    )
    yield f"  into a table of its own, {side.table}"
    if left and following.max_offsets_per_batch is None:
        yield (
            "  in one batch, which begins again if it is cut off: max_offsets_per_batch of NEXT "
            "makes several"
        )


def _begun(begun: Begun, side: Paths) -> Iterator[str]:
    committed = Checkpoint(side.checkpoint).committed()
    state = f"batch {committed[-1]} is done" if committed else "no batch is done"
    yield f"  goes on: {begun.who} began it on {begun.began:%F %H:%M} UTC, {state}"
    if held := holder(side.lease):
        yield f"  at work: {held}"


def _lacks(
    live: Paths, following: Pipeline, lacks: Needs, generations: tuple[str, ...]
) -> Iterator[str]:
    if lacks.lost:
        until = _newest(live, generations, lacks.lost)
        yield (
            "  Kafka has no longer all that the live table was made from: "
            + places(lacks.lost, following.inputs.shown)
            + (f"; their event times end at {until:%F %H:%M:%S} UTC" if until else "")
        )
    if lacks.unused:
        yield f"  {lacks.unused}"
    if lacks.archived:
        count = offsets_in(lacks.archived)
        yield f"  then {count:,} that Kafka has no longer, from the topic's archive"
    if not lacks.lost and not lacks.archived:
        yield "  Kafka has every record that the live table was made from"


def _newest(live: Paths, generations: tuple[str, ...], lost: Parts) -> datetime | None:
    """The newest event time of the slices up to these offsets."""
    which = " OR ".join(
        f'("partition" = {p} AND first_offset < {ranges[-1][1]})' for p, ranges in lost.items()
    )
    [row] = ops_tables.query(
        live.root,
        "slices",
        "SELECT max(last_event_time) AS until FROM slices WHERE "
        f"{ops_tables.of_checkpoint(live.pipeline, generations)} AND ({which})",
    ).to_pylist()
    until: datetime | None = row["until"]
    return until
