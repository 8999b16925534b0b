"""Reset: starts again. Moves checkpoint and table aside, and the next drain reads Kafka from its
earliest offsets.

It shows its changes before it makes them, and keeps the old files. The next run has a new
generation, so that Delta does not take its batches for those that it already has.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.admin.intent import Intent
from spark_jobs.checkpoint.identity import read_identity, refuse_older_notes
from spark_jobs.checkpoint.lease import HeldLease, holder, lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.switching import refuse_cut_off
from spark_jobs.errors import CheckpointBroken, LeaseHeld
from spark_jobs.journal.change import Change, Scene
from spark_jobs.journal.runner import carry_out, complete
from spark_jobs.published.aside import Aside, aside, lead_consumers, move_folders
from spark_jobs.repair.exchange.commit import refuse_features
from spark_jobs.root.paths import Paths
from spark_jobs.settings.installation import Settings
from spark_jobs.sink import table
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.storage.delta import is_table, open_table
from spark_jobs.storage.folders import move_folder, remove_folder
from spark_jobs.storage.object_store import require_writable

if TYPE_CHECKING:
    pass

LOG = logging.getLogger(__name__)
WHO = "sluice reset"


class Reset(Aside):
    """What a reset needs."""

    releases: bool
    """Whether an archive's table stays, for the next generation."""


def reset(spec: Pipeline, settings: Settings) -> Intent:
    """Move checkpoint and table aside.

    When executed, raises LeaseHeld, LeaseLost, RootNotWritable, RootRefused or RootUnreachable.
    """
    paths = Paths(settings.root, spec)
    refuse_cut_off(paths.switching)
    refuse_older_notes(paths)
    committed = Checkpoint(paths.checkpoint).committed()
    kept = f"kept-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    seen, begun = _identity_text(paths), paths.journal.exists()
    staged = paths.stagings.exists()
    goes_on = spec.is_archive and _made_anew(spec, settings, paths)
    state = (
        f"{len(committed)} batches in the checkpoint" if paths.version.exists() else "no checkpoint"
    )

    if goes_on and is_table(paths.table):
        refuse_features(open_table(paths.table))

    def moves() -> tuple[tuple[str, str], ...]:
        return aside(paths, (paths.version,) if goes_on else (paths.version, paths.table), kept)

    def execute() -> tuple[str, ...]:
        require_writable(paths)
        with lease(paths.lease, WHO) as held:
            refuse_cut_off(paths.switching)
            if not begun and _identity_text(paths) != seen:
                raise LeaseHeld(
                    f"another command has changed {spec.name} since this one looked.",
                    f"See what there is to do now: sluice reset {spec.name}",
                )
            _settled(spec, paths, held, kept)
            facts = Reset(moves=moves(), releases=goes_on)
            carry_out(RESET, facts, spec, paths, held, WHO)
        return _told(paths, "moved", facts.moves)

    return Intent(
        (
            f"{spec.name}: {state}",
            *_told(paths, "move", moves()),
            *([f"remove {paths.stagings}: repairs of the old table"] if staged else ()),
            *(_archive_goes_on(paths) if goes_on else _starts_again()),
        ),
        execute,
    )


def release_table(facts: Reset, scene: Scene) -> None:
    """Let the next generation write an archive's table. Before the checkpoint goes, which says why
    it stays.
    """
    if facts.releases:
        table.release(scene.paths.table)


def remove_stagings(facts: Reset, scene: Scene) -> None:
    """Remove the repairs of the old table."""
    del facts
    if holder(scene.paths.staging_lease) is None:  # else `sluice doctor` removes it later
        remove_folder(scene.paths.stagings)


def _told(paths: Paths, does: str, moves: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(f"{does} {paths.root / old} to {paths.root / new}" for old, new in moves)


RESET = Change(
    "reset",
    Reset,
    lambda _: "a reset",
    (release_table, move_folders, lead_consumers, remove_stagings),
)


def _settled(spec: Pipeline, paths: Paths, held: HeldLease, kept: str) -> None:
    """Complete what was begun; what cannot be completed is set aside, since all of it goes."""
    try:
        complete(spec, paths, held)
        held.settle()
    except Exception as error:  # noqa: BLE001 - whatever stands in its way, a reset is the way out
        LOG.warning("%s: what was begun is given up: %s", spec.name, error)
        held.confirm()
        move_folder(
            paths.journal, paths.journal.with_name(f"{paths.journal.name}.{kept}"), held.confirm
        )


def _identity_text(paths: Paths) -> str:
    """Whose checkpoint it is, also of a file that does not parse."""
    return paths.identity.read_text() if paths.identity.exists() else ""


def _made_anew(spec: Pipeline, settings: Settings, paths: Paths) -> bool:
    """Whether the topic is another one than that of the checkpoint. Asks the brokers.

    A broken checkpoint does not say of which topic it is: its archive is moved aside whole. Raises
    KafkaUnreachable, KafkaRefused or TopicMissing.
    """
    try:
        known = read_identity(paths)
    except CheckpointBroken:
        return False
    if known is None:  # an earlier reset may have left the table for the next run
        return table.released(paths.table)
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
