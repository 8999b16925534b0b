"""Back: what taking a switch back would lose, without a JVM: the former checkpoint reads again what
was drained since the switch, and Kafka may have removed some of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.admin.rebuild.needs import read_to
from spark_jobs.admin.rebuild.ready import ready_back
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import RecordsUnreachable, TopicRemade
from spark_jobs.repair.find.plan import offsets_in, places
from spark_jobs.repair.offsets.archived import archived_or_why, located
from spark_jobs.source.sources import source_of
from spark_jobs.source.union import same_topics
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Parts
    from spark_jobs.spec import Pipeline


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
    end = Checkpoint(paths.checkpoint).batch(audited).end if audited >= 0 else {}
    again = sum(max(0, at - end.get(p, 0)) for p, at in read_to(ours).items())
    lost: Parts = {
        p: ((end.get(p, 0), first),)
        for p, first in sorted(topic.earliest.items())
        if first > end.get(p, 0)
    }
    told = f"  its next drain reads {again:,} offsets again that were drained since"
    if not lost:
        return Back(again, lost, (f"{told}; Kafka has every one that it needs",))
    has, _ = archived_or_why(paths.root, former.inputs, topic.id)
    lines = (
        told,
        f"  Kafka has no longer {offsets_in(lost):,} that it needs: "
        + places(lost, former.inputs.shown),
        f"  the topic's archive has {offsets_in(located(lost, has, {}).archive):,} of them",
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
