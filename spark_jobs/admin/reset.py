"""Reset and rewind: what a person does to a checkpoint and its table: shown first, done on request, the old ones kept.

reset   begin anew: checkpoint and table are moved aside, and the next drain reads Kafka from its earliest offsets.
rewind  go back to the end of a batch: the table is restored to what it held then, and the next drain reads on from there.

Both give the next run a generation of its own, so that Delta takes its batches for new ones.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from spark_jobs.checkpoint.cursor import read_cursor
from spark_jobs.checkpoint.identity import stored
from spark_jobs.checkpoint.integrity import Integrity
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.errors import LeaseHeld, StateUnreadable
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.ops import ops_tables
from spark_jobs.sink import history, table
from spark_jobs.storage.delta import opened
from spark_jobs.storage.folders import begun, copy, move
from spark_jobs.storage.object_store import require_writable


class Intent(NamedTuple):
    """What would be done, in words, and the doing of it."""

    lines: tuple[str, ...]
    execute: Callable[[], tuple[str, ...] | None] | None
    """None where there is nothing to do. It may say what it did, a line each."""


def reset(spec: Pipeline, settings: Settings) -> Intent:
    """Move checkpoint and table aside."""
    paths = Paths(settings.root, spec)
    committed = Checkpoint(paths.checkpoint).committed()
    aside = f"kept-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    cut_off = begun(paths.moving)
    found = [(path, path.with_name(f"{path.name}.{aside}")) for path in (paths.version, paths.table) if path.exists()]
    moves = cut_off or found
    state = f"{len(committed)} batches in the checkpoint" if paths.version.exists() else "no checkpoint"
    if cut_off:
        state = "goes on with a reset that was cut off"

    def execute() -> tuple[str, ...]:
        require_writable(paths)
        with lease(paths.lease, "sluice reset") as held:
            if begun(paths.moving) != cut_off:  # what was to be moved then may be the next run's by now
                raise LeaseHeld(f"another reset of {spec.name} has begun or ended since this one looked.",
                                f"Look again: sluice reset {spec.name}")
            return move(moves, paths.moving, held.confirm)

    return Intent(
        (f"{spec.name}: {state}", *(f"move {old} to {new}" for old, new in moves),
         "the next drain reads Kafka from its earliest offsets, into a new table, under a new generation",
         "records that Kafka no longer holds are not read again: their results are in the old table alone"), execute)


def rewind(spec: Pipeline, settings: Settings, batch: int) -> Intent:
    """Go back to the end of a committed batch. Raises StateUnreadable where the checkpoint no longer holds its state."""
    paths = Paths(settings.root, spec)
    known, checkpoint = stored(paths), Checkpoint(paths.checkpoint)
    whole = Integrity(checkpoint).whole
    if known is None or batch not in whole:
        there = f"batches {whole[0]} to {whole[-1]}" if whole else "none"
        raise StateUnreadable(f"the state after batch {batch} of {spec.name} is not there whole; there is that of {there}.",
                              "Rewind to one of those, or begin anew: sluice reset.")
    later = [planned for planned in checkpoint.planned() if planned > batch]
    version = history.version_after(paths.table, known.owner(spec.name), batch)
    kept = paths.version.with_name(f"{paths.version.name}.kept-{datetime.now(UTC):%Y%m%dT%H%M%S}")

    def execute() -> None:
        with lease(paths.lease, "sluice rewind") as held:
            copy(paths.version, kept, held.confirm)
            generation = uuid.uuid4().hex[:12]
            delta = opened(paths.table)
            if version != delta.version():
                delta.restore(version)
            delta.alter.set_table_properties({table.GENERATION: generation}, raise_if_not_exists=False)
            _forget(paths, checkpoint, batch, known.generation)
            cursor, now = read_cursor(paths.cursor), table.version(paths.table)
            cursor.model_copy(update={
                "audited": min(cursor.audited, batch), "judged": min(cursor.judged, batch), "table_version": now,
                "judged_table_version": now if cursor.judged >= batch else cursor.judged_table_version,
            }).write(paths.cursor)
            known.model_copy(update={"generation": generation}).write(paths.identity)

    end = checkpoint.batch(batch).end
    return Intent((
        f"{spec.name}: generation {known.generation}, batches up to {max(checkpoint.planned())}",
        f"copy {paths.version} to {kept}",
        f"restore {paths.table} to version {version}, what it held after batch {batch}",
        f"forget batches {later or 'none'} in checkpoint and account",
        f"the next drain reads on from offsets {end}, under a new generation",
    ), execute)


def _forget(paths: Paths, checkpoint: Checkpoint, batch: int, generation: str) -> None:
    """Take out of account and checkpoint what came after a batch."""
    for name in ("batches", "late", "quarantine"):
        ops_tables.remove_after(paths.root, name, paths.table.name, generation, batch)
    for folder in ("commits", "offsets"):  # in this order: a commit without its offsets is no checkpoint
        for path in [*(checkpoint.folder / folder).iterdir()]:
            number = path.name.removeprefix(".").removesuffix(".crc")  # a checksum may outlive its file, and Spark minds it
            if number.isdigit() and int(number) > batch:
                path.unlink()
