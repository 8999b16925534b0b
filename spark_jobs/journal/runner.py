"""Runner: carries a change out step by step, under the pipeline's lease.

One rule: whoever takes the lease completes what was begun before doing anything else. So whoever
works under it finds table, checkpoint, ops tables and cursor belonging together.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.begun import Begun, has_journal, settle as settle_note, under_way
from spark_jobs.checkpoint.notes.live import refuse_not_live
from spark_jobs.errors import CheckpointBroken, FormatNewer
from spark_jobs.journal.change import Change, F, Facts, Scene
from spark_jobs.storage import failpoint
from spark_jobs.storage.lease_view import Held
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths

CHANGES = {
    "accept": "spark_jobs.admin.accept:ACCEPT",
    "anew": "spark_jobs.runs.resume.anew:ANEW",
    "back": "spark_jobs.admin.rebuild.switch:SWITCH",
    "excise": "spark_jobs.excise.adopt:EXCISE",
    "repartition": "spark_jobs.runs.repartition:REPARTITION",
    "reset": "spark_jobs.admin.reset:RESET",
    "rewind": "spark_jobs.admin.rewind:REWIND",
    "swap": "spark_jobs.repair.swap:SWAP",
    "switch": "spark_jobs.admin.rebuild.switch:SWITCH",
    "undo": "spark_jobs.repair.undo:UNDONE",
    "unrestored": "spark_jobs.admin.restoring:UNRESTORED",
}
"""Name -> where it is declared. As text, and imported when it is needed: each belongs to the room
of its command, and whoever takes the lease completes all of them.
"""

UNNOTED = "spark_jobs.repair.undo:unnoted"
"""What a Sluice without a journal left half done, found by the table's log."""


def kind(name: str) -> Change[Any]:
    """The change of this name. Raises KeyError for a newer Sluice's."""
    change: Change[Any] = _imported(CHANGES[name])
    return change


def unnoted(paths: Paths) -> Iterator[tuple[Change[Any], Facts]]:
    """Changes that are to be completed, of a root that never had a journal; none without a
    checkpoint. Then a first drain loads no repair. Raises CheckpointBroken for a checkpoint that
    has lost its identity: behind a note that nothing was left, nobody would look again.
    """
    if read_identity(paths) is not None:
        yield from _imported(UNNOTED)(paths)


def _imported(place: str) -> Any:
    module, _, declared = place.partition(":")
    return getattr(import_module(module), declared)


LOG = logging.getLogger(__name__)


@contextmanager
def leased(paths: Paths, who: str) -> Iterator[Held]:
    """Hold the pipeline's lease within the block, with nothing begun and not ended.

    Raises LeaseHeld, CheckpointBroken for a note that does not parse, FormatNewer for a change that
    this Sluice does not know, VersionNotLive for paths of before a switch or a reset, and what the
    steps raise.
    """
    with lease(paths.lease, who) as held:
        complete(paths, held)
        refuse_not_live(paths)
        if not has_journal(paths):
            for change, facts in unnoted(paths):
                carry_out(change, facts, paths, held, who, more=True)
        settle_note(paths, held)
        yield held


def settle(paths: Paths, who: str) -> bool:
    """Complete what was begun: for those who look before they take the lease. Whether there was
    anything.
    """
    if under_way(paths) is None and (has_journal(paths) or not any(unnoted(paths))):
        return False
    with leased(paths, who):
        return True


def carry_out(
    change: Change[F],
    facts: F,
    paths: Paths,
    held: Held,
    by: str,
    prepared: Any = None,
    *,
    more: bool = False,
    instead: bool = False,
) -> None:
    """Begin the change, and bring it to its end. The lease is held, with nothing begun before, or
    `instead` of what is. `more`: see Begun.
    """
    note = Begun(
        change=change.name,
        version=paths.version.name,
        id=uuid.uuid4().hex,
        by=by,
        fence=held.fence,
        at=datetime.now(UTC),
        words=change.words(facts),
        facts=facts.model_dump(mode="json"),
        more=more,
    )
    note = note.begin(paths, held, instead=instead)
    failpoint.at("change.begun")
    scene = Scene(paths, held, note.id, prepared)
    try:
        _steps(change, facts, note, scene)
    except Exception:
        with suppress(
            Exception
        ):  # why it failed is told; else whoever takes the lease next does it
            _given_up(change, facts, scene)
        raise


def complete(paths: Paths, held: Held) -> None:
    """Bring to its end what was begun, or take it back."""
    note = under_way(paths)
    if note is None:
        return
    change, facts = _known(paths, note)
    if note.version != paths.version.name and not change.of_place:
        raise CheckpointBroken.change_of_version(
            change=note.words,
            version=note.version,
            pipeline=paths.pipeline,
            found=paths.version.name,
        )
    scene = Scene(paths, held, note.id)
    if _given_up(change, facts, scene):
        LOG.warning(
            "%s: %s, which %s had begun, is taken back", paths.pipeline, note.words, note.by
        )
        return
    _steps(change, facts, note, scene)
    LOG.warning("%s: completed %s, which %s had begun", paths.pipeline, note.words, note.by)


def _given_up(change: Change[F], facts: F, scene: Scene) -> bool:
    """Take the change back if its first step is not done, and only its first try could do it.
    Whether it was.
    """
    note = under_way(scene.paths)
    if note is None or note.id != scene.id or note.done:
        return False
    if not change.take_back and not (change.stands and not _stands(change, facts, note, scene)):
        return False
    scene.held.confirm()
    if change.take_back:
        change.take_back(facts, scene)
    note.end(scene.paths, scene.held)
    return True


def _stands(change: Change[F], facts: F, note: Begun, scene: Scene) -> bool:
    """Whether the first step has had its effect, or can have it yet. Behind an answer of no it
    cannot: who began it before may sleep, between its last look at the lease and its commit.
    """
    assert change.stands
    if change.stands(facts, scene):
        return True
    if note.fence == scene.held.fence:
        return False
    table_of(scene.paths).fence(scene.held)
    return change.stands(facts, scene)


def _known(paths: Paths, note: Begun) -> tuple[Change[Any], Any]:
    """The change and its facts. Raises FormatNewer if another Sluice has written them."""
    try:
        change = kind(note.change)
        return change, change.facts.model_validate(note.facts)
    except (KeyError, ValueError):
        raise FormatNewer.change_unknown(path=paths.journal, change=note.words) from None


def _steps(change: Change[F], facts: F, note: Begun, scene: Scene) -> None:
    for step in change.steps:
        if step.__name__ in note.done:
            continue
        scene.held.confirm()
        step(facts, scene)
        failpoint.at("change.stepped")
        note = note.model_copy(update={"done": (*note.done, step.__name__)})
        # A process that slept in the step does not bring back what another has completed.
        note.put(scene.paths.journal, scene.held)
    note.end(scene.paths, scene.held)
