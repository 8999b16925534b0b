"""Reset and rewind: change a checkpoint and its table.

Both show their changes before they make them, and keep the old files.

reset   starts again: moves checkpoint and table aside. The next drain reads Kafka from its earliest
        offsets.
rewind  goes back to the end of a batch: restores the table to what it held then. The next drain
        reads from there.

Both give the next run a new generation, so that Delta does not take its batches for those that it
already has.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.failing import read_failing
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.integrity import Integrity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.published import read_published
from spark_jobs.checkpoint.purge import purge
from spark_jobs.contract.errors import LeaseHeld, StateUnreadable
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.ops import ops_tables
from spark_jobs.published.data_folder import follow
from spark_jobs.sink import history, table
from spark_jobs.storage.delta import open_table, version_is_whole
from spark_jobs.storage.folders import copy, move, unfinished_moves
from spark_jobs.storage.object_store import require_writable

LOG = logging.getLogger(__name__)


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
    committed = Checkpoint(paths.checkpoint).committed()
    kept = f"kept-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    cut_off = unfinished_moves(paths.moving)
    folders = [path for path in (paths.version, paths.table) if path.exists()]
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
            if (
                unfinished_moves(paths.moving) != cut_off
            ):  # the next run may have written at these paths since
                raise LeaseHeld(
                    f"another reset of {spec.name} has begun or ended since this one looked.",
                    f"See what there is to do now: sluice reset {spec.name}",
                )
            moved = move(moves, paths.moving, held.confirm)
            if aside := dict(moves).get(paths.table):
                follow(paths, aside)
            return moved

    return Intent(
        (
            f"{spec.name}: {state}",
            *(f"move {old} to {new}" for old, new in moves),
            "the next drain reads Kafka from its earliest offsets into a new table, with a new "
            "generation",
            "records that Kafka no longer holds are not read again: their results are only in the "
            "old table",
        ),
        execute,
    )


def rewind(spec: Pipeline, settings: Settings, batch: int) -> Intent:
    """Go back to the end of a committed batch.

    Raises StateUnreadable if the checkpoint no longer has its state, or the table its rows.

    When executed, raises LeaseHeld or LeaseLost.
    """
    paths = Paths(settings.root, spec)
    known = read_identity(paths)
    checkpoint = Checkpoint(paths.checkpoint)
    restorable = Integrity(checkpoint).restorable_batches
    if known is None or batch not in restorable:
        available = f"batches {restorable[0]} to {restorable[-1]}" if restorable else "no batch"
        raise StateUnreadable(
            f"the checkpoint of {spec.name} does not have the complete state after batch {batch}; "
            f"it has that of {available}.",
            f"Rewind to one of those, or start again: sluice reset {spec.name}",
        )
    later = [planned for planned in checkpoint.planned() if planned > batch]
    owners = [f"{spec.name}/{generation}" for generation in known.generations]
    version = history.version_after(paths.table, owners, batch)
    _refuse_vacuumed(paths, version, batch)
    kept = paths.version.with_name(f"{paths.version.name}.kept-{datetime.now(UTC):%Y%m%dT%H%M%S}")

    def execute() -> None:
        with lease(paths.lease, "sluice rewind") as held:
            failing = read_failing(paths.failing)  # before anything is changed: it may be damaged
            copy(paths.version, kept, held.confirm)
            generation = uuid.uuid4().hex[:12]
            delta = open_table(paths.table)
            if version != delta.version():
                delta.restore(version)
            delta.alter.set_table_properties(
                {table.GENERATION: generation}, raise_if_not_exists=False
            )
            _remove_later_batches(paths, checkpoint, batch, known.generations)
            cursor = read_cursor(paths.cursor)
            restored = table.version(paths.table)
            cursor.model_copy(
                update={
                    "audited": min(cursor.audited, batch),
                    "judged": min(cursor.judged, batch),
                    "open_records": None,
                    "table_version": restored,
                    "judged_table_version": restored
                    if cursor.judged >= batch
                    else cursor.judged_table_version,
                }
            ).write(paths.cursor)
            if paths.failing.exists():
                failing.up_to(batch).write(paths.failing)
            told = read_published(paths.published)
            told.model_copy(
                update={
                    "batch": min(told.batch, batch),
                    "before_batch": min(told.before_batch, batch),
                }
            ).write(paths.published)
            known.model_copy(update={"generation": generation, "rewound": known.generations}).write(
                paths.identity
            )
            _purge_later_state(checkpoint, spec.name)

    end = checkpoint.batch(batch).end
    return Intent(
        (
            f"{spec.name}: generation {known.generation}, batches up to "
            f"{max(checkpoint.planned())}",
            f"copy {paths.version} to {kept}",
            f"restore {paths.table} to version {version}, its content after batch {batch}",
            f"remove batches {later or 'none'} from the checkpoint and the ops tables",
            f"the next drain reads from offsets {end}, with a new generation",
        ),
        execute,
    )


def _refuse_vacuumed(paths: Paths, version: int, batch: int) -> None:
    """Raise StateUnreadable if VACUUM, or a clean-up of the log, removed what the version needs."""
    if version_is_whole(paths.table, version):
        return
    name = paths.table.name
    raise StateUnreadable(
        f"version {version} of {paths.table}, its content after batch {batch}, is gone: VACUUM or "
        "a clean-up of its log has removed files of it.",
        f"Rewind to a later batch, or start again: sluice reset {name}",
    )


def _purge_later_state(checkpoint: Checkpoint, pipeline: str) -> None:
    """Last, and without an error: state that is left over is in nobody's way but the disk's."""
    try:
        purge(checkpoint, slack=0, later=True)
    except Exception as error:  # noqa: BLE001 - whatever the file system says
        LOG.warning("%s: could not remove the state of later batches: %s", pipeline, error)


def _remove_later_batches(
    paths: Paths, checkpoint: Checkpoint, batch: int, generations: tuple[str, ...]
) -> None:
    """Remove the batches after this one from the ops tables and the checkpoint's logs."""
    for name in ("batches", "late", "quarantine"):
        # Of all generations: an earlier rewind may have kept batches that this one does not.
        for generation in generations:
            ops_tables.remove_after(paths.root, name, paths.table.name, generation, batch)
    for folder in (
        "commits",
        "offsets",
    ):  # in this order: Spark cannot resume from a commit without its offsets
        for path in [*(checkpoint.folder / folder).iterdir()]:
            # Also a checksum without its file: by it Hadoop would refuse the next entry of that
            # name.
            number = path.name.removeprefix(".").removesuffix(".crc")
            if number.isdigit() and int(number) > batch:
                path.unlink()
