"""Reset: starts again. Moves checkpoint and table aside, and the next drain reads Kafka from its
earliest offsets.

It shows its changes before it makes them, and keeps the old files. The next run has a new
generation, so that Delta does not take its batches for those that it already has.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.lease import holder, lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.switching import refuse_cut_off
from spark_jobs.contract.errors import CheckpointBroken, LeaseHeld
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.published.data_folder import follow
from spark_jobs.sink import table
from spark_jobs.source.topic_state import topic_state
from spark_jobs.storage.folders import move, remove_folder, unfinished_moves
from spark_jobs.storage.object_store import require_writable


class Intent(NamedTuple):
    """What a command would do, and the function that does it."""

    lines: tuple[str, ...]
    """What it would do, for the user, a line each."""
    execute: Callable[[], tuple[str, ...] | None] | None
    """Does it, and may return what it did, a line each. None if there is nothing to do."""


def reset(spec: Pipeline, settings: Settings) -> Intent:
    """Move checkpoint and table aside.

    When executed, raises LeaseHeld, LeaseLost, RootNotWritable, RootRefused or RootUnreachable.
    """
    paths = Paths(settings.root, spec)
    refuse_cut_off(paths.switching)
    committed = Checkpoint(paths.checkpoint).committed()
    kept = f"kept-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    cut_off = unfinished_moves(paths.moving)
    staged = paths.stagings.exists()
    goes_on = spec.is_archive and not cut_off and _made_anew(spec, settings, paths)
    mine = (paths.version,) if goes_on else (paths.version, paths.table)
    folders = [path for path in mine if path.exists()]
    moves = cut_off or [(path, path.with_name(f"{path.name}.{kept}")) for path in folders]
    if cut_off:
        state = "continues a reset that was cut off"
    elif paths.version.exists():
        state = f"{len(committed)} batches in the checkpoint"
    else:
        state = "no checkpoint"

    def execute() -> tuple[str, ...]:
        require_writable(paths)
        with lease(paths.lease, "sluice reset") as held:
            refuse_cut_off(paths.switching)
            if (
                unfinished_moves(paths.moving) != cut_off
            ):  # the next run may have written at these paths since
                raise LeaseHeld(
                    f"another reset of {spec.name} has begun or ended since this one looked.",
                    f"See what there is to do now: sluice reset {spec.name}",
                )
            if goes_on:
                table.release(paths.table)  # before the checkpoint goes, which says why
            moved = move(moves, paths.moving, held.confirm)
            if aside := dict(moves).get(paths.table):
                follow(paths, aside)
            if holder(paths.staging_lease) is None:  # else `sluice doctor` removes it later
                remove_folder(paths.stagings)
            return moved

    return Intent(
        (
            f"{spec.name}: {state}",
            *(f"move {old} to {new}" for old, new in moves),
            *([f"remove {paths.stagings}: repairs of the old table"] if staged else ()),
            *(_archive_goes_on(paths) if goes_on else _starts_again()),
        ),
        execute,
    )


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
    return topic_state(settings, spec.topic.name).id != known.topic_id


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
