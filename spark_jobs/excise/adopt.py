"""Adopt: a checkpoint takes over what the notes of its topics say: new excisions, and the end of
others. Each is one change of the journal. The command does it, or the pipeline's next run.

From then on drains and second reads refuse the records that no batch has, and repairs all of them.
What batches have is marked as outdated: `sluice excise`, `repair` or Airflow computes it again.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import newest_of, read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.excised import EXCISED, Excised, Places
from spark_jobs.checkpoint.notes.failing import PUT_ASIDE, read_failing
from spark_jobs.excise.note import ENDED, excisions, ids_of
from spark_jobs.journal.change import Change, Facts, Scene
from spark_jobs.journal.runner import carry_out, leased
from spark_jobs.ops import outdated
from spark_jobs.source.positions import Positions
from spark_jobs.storage.pin import Changed, Pin
from spark_jobs.values.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.runs.resume.settlers import SparkScene
    from spark_jobs.source.micro_batch import Batch
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


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


def excisions_since(scene: SparkScene) -> list[str]:
    """Those that the checkpoint has not taken over yet, or that have ended."""
    return adopt(scene.now.spec, scene.paths, scene.identity, scene.held, scene.run_id)


def adopt(spec: Pipeline, paths: Paths, identity: Identity, held: Held, who: str) -> list[str]:
    """Take over what has ended and what is new, under the pipeline's lease; in words."""
    before = read_failing(paths.failing)
    known = {each.id for each in before.excised}
    # An archive has every record.
    topics = () if spec.is_archive else {each.place for each in spec.inputs}
    gone = known & {id_ for topic in topics for id_ in ids_of(paths.root, topic, ENDED)}
    ledger = before.ledger or uuid.uuid4().hex[:12]
    own = {"generations": identity.generations, "ledger": ledger}
    changes = [Excise(lifted=each, **own) for each in sorted(gone)]
    new = [each for topic in topics for each in excisions(paths.root, topic, known)]
    last, taken = made(paths, identity) if new else None, list[Taken]()
    batch, since = (last.id, last.end) if last else (-1, Positions())
    for note in sorted(new, key=lambda each: each.id):
        texts, times = note.within(spec, identity.topic_id)
        if places := Places.told(texts):
            excised = Excised(
                id=note.id, number=before.excisions + len(taken) + 1,
                reason=f"{PUT_ASIDE} {note.who}, excision {note.id}: {note.reason}",
                since=since, until=places.until, places=texts,
            )  # fmt: skip
            marked = around(spec, times if places.passed(since) else ())
            taken.append(Taken(excised=excised, times=tuple(marked)))
    if taken:
        changes.append(Excise(taken=(*taken,), batch=batch, **own))
    for facts in changes:
        carry_out(EXCISE, facts, paths, held, who)
    return [f"{_words(facts)} is in force" for facts in changes]


def taken_over(spec: Pipeline, paths: Paths, who: str) -> bool:
    """Likewise by a command; whether batches have read what is refused by now. Raises LeaseHeld."""
    if read_identity(paths) is None:  # its first run does; there is nothing to lease
        return False
    with leased(paths, who) as held:
        if known := read_identity(paths):
            adopt(spec, paths, known, held, who)
    excised = read_failing(paths.failing).excised
    return any(Places.told(each.places).passed(each.since) for each in excised)


def made(paths: Paths, identity: Identity) -> Batch | None:
    """The newest batch that is committed or in the table: one in neither has had no effect."""
    newest = max(newest_of(paths, identity.owner(paths.pipeline)))
    return Checkpoint(paths.checkpoint).batch(newest) if newest >= 0 else None


def around(spec: Pipeline, times: Sequence[Span]) -> Iterator[Span]:
    """These times, and those of dropped copies: one comes in the place of a record that goes."""
    dropping = chain.from_iterable(step.dropping for step in spec.steps)
    copies = (step.copies_for(spec.watermark_delay) for step in dropping)
    wider = sum(filter(None, copies), timedelta())
    return (each.widened(wider, wider) for each in times)


def mark(facts: Excise, scene: Scene) -> None:
    """Let ops.outdated say which rows batches have made with the records."""
    own = (scene.paths.root, scene.paths.pipeline, facts.generations)
    for each in facts.taken:
        pin = Pin(table_id=facts.ledger, version=each.excised.number)
        changes = (Changed(None, *span) for span in each.times)
        outdated.put(*own, EXCISED, pin, facts.batch, changes, scene.held, goes_back=False)
    for known in read_failing(scene.paths.failing).excised:
        if known.id == facts.lifted:
            pin = Pin(table_id=facts.ledger, version=known.number)
            outdated.forget(*own, (EXCISED, pin), scene.held)


def refuse(facts: Excise, scene: Scene) -> None:
    """Let failing.json have them."""
    before = read_failing(scene.paths.failing)
    left = tuple(each for each in before.excised if each.id != facts.lifted)
    known = {each.id for each in left}
    new = tuple(each.excised for each in facts.taken if each.excised.id not in known)
    newest = max((each.number for each in new), default=before.excisions)
    update = {"excised": (*left, *new), "excisions": newest, "ledger": facts.ledger}
    if (now := before.model_copy(update=update)) != before:
        now.put(scene.paths.failing, scene.held)


def _words(facts: Excise) -> str:
    ids = ", ".join(each.excised.id for each in facts.taken)
    return f"the excision of {ids}" if ids else f"the end of excision {facts.lifted}"


EXCISE = Change("excise", Excise, _words, (mark, refuse))
