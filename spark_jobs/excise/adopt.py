"""Adopt: a checkpoint takes over what the notes of its topics say: new excisions, and the end of
others. Each is one change of the journal. The command does it, or the pipeline's next run.

From then on drains and second reads refuse the records that no batch has, and repairs all of them.
What batches have is marked as outdated: `sluice excise`, `repair` or Airflow computes it again.
"""

from __future__ import annotations

import logging
import uuid
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.excised import EXCISED, Excised, Places
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.excise.note import Excision, ended, excisions
from spark_jobs.journal.change import Change, Facts, Scene
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.ops import outdated
from spark_jobs.source.positions import Positions
from spark_jobs.storage.pin import Changed, Pin
from spark_jobs.table.tables import table_of
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.runs.resume.settlers import SparkScene
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths

LOG = logging.getLogger(__name__)


class Taken(Facts):
    """An excision, as a checkpoint takes it over."""

    excised: Excised
    times: tuple[Span, ...]
    """Event times of records whose rows may be others without those that batches have."""


class Excise(Facts):
    """What the steps need."""

    taken: tuple[Taken, ...] = ()
    lifted: str = ""
    """The id of one that ends."""
    ledger: str
    batch: int = -1
    """The newest that is in the table; -1 without one."""
    generations: tuple[str, ...]


def pending(spec: Pipeline, paths: Paths, topic_ids: str) -> list[Excision]:
    """The excisions of its topics that the checkpoint has not taken over, oldest first."""
    if spec.is_archive:  # it has every record
        return []
    known = {each.id for each in read_failing(paths.failing).excised}
    topics = dict.fromkeys(each.place for each in spec.inputs)
    found = (each for topic in topics for each in excisions(paths.root, topic, known))
    return sorted((e for e in found if e.numbers(spec, topic_ids)), key=lambda each: each.id)


def ending(spec: Pipeline, paths: Paths) -> list[str]:
    """The ids of those that the checkpoint has, and that have ended since."""
    gone = {each for topic in spec.inputs for each in ended(paths.root, topic.place)}
    return [each.id for each in read_failing(paths.failing).excised if each.id in gone]


def excisions_since(scene: SparkScene) -> tuple[str, ...]:
    """Those that the checkpoint has not taken over yet, or that have ended."""
    ids = (scene.identity.topic_id, scene.identity.generations)
    adopt(scene.now.spec, scene.paths, ids, scene.held, scene.run_id)
    return ()


def adopt(
    spec: Pipeline, paths: Paths, ids: tuple[str, tuple[str, ...]], held: Held, who: str
) -> int:
    """Take over what has ended and what is pending, under the pipeline's lease; how many are new.
    `ids`: those of the topics, and the generations.
    """
    topic_ids, generations = ids
    for each in ending(spec, paths):
        ledger = read_failing(paths.failing).ledger
        facts = Excise(lifted=each, ledger=ledger, generations=generations)
        carry_out(EXCISE, facts, paths, held, who)
        LOG.info("%s: leaves the records of excision %s out no more", spec.name, each)
    found = pending(spec, paths, topic_ids)
    if not found:
        return 0
    before, (batch, since) = read_failing(paths.failing), made(paths, generations[-1])
    taken = tuple(
        Taken(
            excised=Excised(
                id=each.id,
                number=number,
                reason=each.why,
                since=since,
                until=Places.told(places).until,
                places=places,
            ),
            times=tuple(around(spec, each.passed(spec, numbers, since))),
        )
        for number, each in enumerate(found, before.excisions + 1)
        for numbers in (each.numbers(spec, topic_ids),)
        for places in (each.places_in(numbers),)
    )
    ledger = before.ledger or uuid.uuid4().hex[:12]
    facts = Excise(taken=taken, ledger=ledger, batch=batch, generations=generations)
    carry_out(EXCISE, facts, paths, held, who)
    ids_of = ", ".join(each.id for each in found)
    LOG.info("%s: leaves the records of excision %s out from now on", spec.name, ids_of)
    return len(found)


def taken_over(spec: Pipeline, paths: Paths, who: str) -> bool:
    """Likewise, by a command. Whether batches have read records that are refused by now. Raises
    LeaseHeld.
    """
    if read_identity(paths) is None:  # its first run does; there is nothing to lease
        return False
    with leased(paths, who) as held:
        known = read_identity(paths)
        if known is None:
            return False
        adopt(spec, paths, (known.topic_id, known.generations), held, who)
    excised = read_failing(paths.failing).excised
    places = ((Places.told(each.places), each.since) for each in excised)
    return any(len(of.behind(since)) < len(of) for of, since in places)


def made(paths: Paths, generation: str) -> tuple[int, Positions]:
    """The newest batch that is committed or in the table, and where it ends. What is planned and
    in neither has had no effect.
    """
    checkpoint = Checkpoint(paths.checkpoint)
    in_table = table_of(paths).newest_batch(f"{paths.pipeline}/{generation}")
    newest = max(in_table, *checkpoint.committed(), -1)
    return newest, checkpoint.batch(newest).end if newest >= 0 else Positions()


def around(spec: Pipeline, times: Sequence[Span]) -> Iterator[Span]:
    """These times, and those of copies: one that a Deduplicate dropped comes in the place of a
    record that goes.
    """
    dropping = chain.from_iterable(step.dropping for step in spec.steps)
    copies = (step.copies_for(spec.watermark_delay) for step in dropping)
    wider = sum(filter(None, copies), timedelta())
    return (each.widened(wider, wider) for each in times)


def mark(facts: Excise, scene: Scene) -> None:
    """Let ops.outdated say which rows batches have made with the records."""
    own = (scene.paths.root, scene.paths.pipeline, facts.generations)
    for each in facts.taken if facts.batch >= 0 else ():
        pin = Pin(table_id=facts.ledger, version=each.excised.number)
        changes = (Changed(None, *span) for span in each.times)
        outdated.put(*own, EXCISED, pin, facts.batch, changes, scene.held, goes_back=False)
    for known in read_failing(scene.paths.failing).excised:
        if known.id == facts.lifted:
            pin = Pin(table_id=facts.ledger, version=known.number)
            outdated.forget(*own, (EXCISED, pin), scene.held)


def refuse(facts: Excise, scene: Scene) -> None:
    """Let failing.json have them."""
    path = scene.paths.failing
    before = read_failing(path)
    left = tuple(each for each in before.excised if each.id != facts.lifted)
    known = {each.id for each in left}
    new = tuple(each.excised for each in facts.taken if each.excised.id not in known)
    newest = max((each.number for each in new), default=before.excisions)
    update = {"excised": (*left, *new), "excisions": newest, "ledger": facts.ledger}
    if (now := before.model_copy(update=update)) != before:
        now.put(path, scene.held)


EXCISE = Change(
    "excise",
    Excise,
    lambda facts: (
        f"the excision of {', '.join(each.excised.id for each in facts.taken)}"
        if facts.taken
        else f"the end of excision {facts.lifted}"
    ),
    (mark, refuse),
)
