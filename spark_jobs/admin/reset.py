"""Reset: starts again, in a new place. The next drain reads Kafka from its earliest offsets.

It shows its changes before it makes them, and moves nothing: the old place is dead from then on,
and `sluice maintain` removes it after some days, but for an archive's.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime

from spark_jobs.admin.intent import Intent
from spark_jobs.checkpoint.identity import read_identity, refuse_older_notes
from spark_jobs.checkpoint.lease import holder, lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.begun import settle, under_way
from spark_jobs.checkpoint.notes.live import GRACE, following, read_live
from spark_jobs.errors import CheckpointBroken, LeaseHeld, RebuildRefused, SluiceError
from spark_jobs.journal.change import Change, GoesLive, Scene, go_live
from spark_jobs.journal.runner import carry_out, complete
from spark_jobs.registry.archive_spec import RELEASED
from spark_jobs.settings.installation import Settings
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.root.live_place import Place, first_table
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.seen import look
from spark_jobs.table.tables import table_of

LOG = logging.getLogger(__name__)
WHO = "sluice reset"


class Reset(GoesLive):
    """What a reset needs."""

    releases: str
    """The name of an archive's table that stays, for the next generation; else empty."""
    staged: str
    """The name of the folder with the repairs of the old table."""


def reset(spec: Pipeline, settings: Settings) -> Intent:
    """Let the spec's state version begin again, in a place of its own.

    When executed, raises LeaseHeld, LeaseLost, RootNotWritable, RootRefused or RootUnreachable.
    """
    paths = Paths(settings.root, spec)
    refuse_older_notes(paths)
    if paths.place.beside:
        raise RebuildRefused.reset_of_rebuild(pipeline=spec.name)
    paths = _draining(paths, spec)
    committed = Checkpoint(paths.checkpoint).committed()
    seen, begun = _identity_text(paths), _is_begun(paths)
    staged = paths.stagings.exists()
    goes_on = spec.is_archive and _made_anew(spec, settings, paths)
    state = (
        f"{len(committed)} batches in the checkpoint" if paths.version.exists() else "no checkpoint"
    )
    if goes_on and table_of(paths).exists():
        table_of(paths).refuse_unrestorable("sluice reset of an archive")

    def execute() -> tuple[str, ...]:
        require_writable(paths)
        with lease(paths.lease, WHO) as held:
            if not begun and (
                _identity_text(paths) != seen or _draining(Paths(*of), spec).place != paths.place
            ):
                raise LeaseHeld.overtaken(pipeline=spec.name, again=f"sluice reset {spec.name}")
            instead = not _settled(Paths(*of), held)
            now = _draining(Paths(*of), spec)
            stays = goes_on and not instead  # nobody knows what was half done to it
            place = _next(now, goes_on=stays)
            facts = Reset(
                live=following(now, spec.state.version, place),
                releases=now.table.name if stays else "",
                staged=now.stagings.name,
            )
            carry_out(RESET, facts, now, held, WHO, instead=instead)
        why = (
            "" if stays == goes_on else ", and in a new table: a change of the old one is half done"
        )
        return (f"{spec.name} begins again in {paths.above / place.folder}{why}",)

    of = settings.root, spec
    return Intent(
        (
            f"{spec.name}: {state}",
            *_left(spec, paths, goes_on=goes_on),
            *([f"remove {paths.stagings}: repairs of the old table"] if staged else ()),
            *(_archive_goes_on(paths) if goes_on else _starts_again()),
        ),
        execute,
    )


def _draining(paths: Paths, spec: Pipeline) -> Paths:
    """Behind a switch it may be another place than the spec's."""
    fact = read_live(paths)
    return Paths(str(paths.root), spec, fact.place(first_table(spec))) if fact else paths


def _next(paths: Paths, *, goes_on: bool) -> Place:
    found = paths.unused()
    return found._replace(table=paths.table.name) if goes_on else found


def _left(spec: Pipeline, paths: Paths, *, goes_on: bool) -> tuple[str, ...]:
    there = [
        each for each in (paths.version, *(() if goes_on else (paths.table,))) if each.exists()
    ]
    if not there:
        return ()
    named = " and ".join(map(str, there))
    if spec.is_archive:
        return (f"leave {named}",)
    return (f"leave {named}, which `sluice maintain` removes after {GRACE.days} days",)


def release_table(facts: Reset, scene: Scene) -> None:
    """Let the next generation write an archive's table."""
    if facts.releases:
        table = table_of(scene.paths, facts.releases)
        if table.exists():
            table.belong(RELEASED, scene.held)


def remove_stagings(facts: Reset, scene: Scene) -> None:
    """Remove the repairs of the old table."""
    if holder(scene.paths.staging_lease) is None:  # else `sluice maintain` removes them later
        remove_folder(scene.paths.root / "staging" / facts.staged)


RESET = Change(
    "reset",
    Reset,
    lambda _: "a reset",
    (release_table, go_live, remove_stagings),
    of_place=True,
)


def _settled(paths: Paths, held: Held) -> bool:
    """False if nobody can complete it: its note is kept aside, and stays until the reset's own
    takes its place.
    """
    try:
        complete(paths, held)
        settle(paths, held)
    except Exception as error:  # noqa: BLE001 - whatever stands in its way, a reset is the way out
        LOG.warning("%s: what was begun is given up: %s", paths.pipeline, error)
        held.confirm()
        if (note := look(paths.journal)).text is not None:
            aside = paths.version / f"given-up-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
            aside.mkdir(parents=True, exist_ok=True)
            (aside / paths.journal.name).write_bytes(note.text.encode(errors="surrogateescape"))
        return False
    return True


def _is_begun(paths: Paths) -> bool:
    try:
        return under_way(paths) is not None
    except SluiceError:
        return True


def _identity_text(paths: Paths) -> str:
    return look(paths.identity).text or ""


def _made_anew(spec: Pipeline, settings: Settings, paths: Paths) -> bool:
    """Asks the brokers. A broken checkpoint does not say its topic: its archive begins anew. Raises
    KafkaUnreachable, KafkaRefused or TopicMissing.
    """
    try:
        known = read_identity(paths)
    except CheckpointBroken:
        return False
    if known is None:  # an earlier reset may have left the table for the next run
        return table_of(paths).generation() == RELEASED
    return source_of(spec, settings).state().id != known.topic_id


def _archive_goes_on(paths: Paths) -> tuple[str, ...]:
    return (
        f"{paths.table} stays, with the records of the former topic under their topic_id",
        "the next run archives the topic that is there now from its earliest offsets",
    )


def _starts_again() -> tuple[str, ...]:
    return (
        "the next drain reads Kafka from its earliest offsets into a new table, with a new "
        "generation",
        "records that Kafka no longer holds are not read again: their results are only in the old "
        "table",
    )
