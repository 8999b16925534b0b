"""Doctor: finds damaged files of a checkpoint and beside it, and repairs what is safe.

Shows the repairs before it makes them.

Of the repairs of logs and state, it makes the first that applies. It moves a torn entry of the
offset log away if the table has no row of that batch. It moves a torn entry of the commit log away,
so that Spark runs the batch again for its state. Otherwise, and from a batch of a repartition,
which Spark does not run again, it rewinds checkpoint, table and ops tables to the newest complete
batch, as `sluice rewind` does. If no batch is complete, it raises and changes nothing. Files that
it moves away are kept in `damaged-<time>` beside the checkpoint.

It takes a person's RESTORE of the table back (restoring.py). It also removes the staging folders
of repairs that were cut off, or that are old.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.admin.cursor_repair import find_cursor, store_cursor
from spark_jobs.admin.intent import Intent, Step, after_what_was_begun
from spark_jobs.admin.restoring import can_unrestore, in_words, to_mend, unrestore
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.integrity import Integrity, remove_orphan_checksums
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.checkpoint.notes.removed import read_removed
from spark_jobs.errors import CheckpointBroken, FormatNewer
from spark_jobs.journal.runner import leased
from spark_jobs.repair.exchange.staging import Leftover, leftovers, remove_leftovers
from spark_jobs.settings.installation import Settings
from spark_jobs.spec import Pipeline
from spark_jobs.storage.folders import set_aside
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.sink.restored import Restored


WHO = "sluice doctor"


class Repair(NamedTuple):
    """A repair that takes the lease itself."""

    line: str
    """What it does, for the user."""
    execute: Callable[[], object]
    """Does it."""
    rewinds: bool = False


def doctor(spec: Pipeline, settings: Settings) -> Intent:
    """Check every file of the checkpoint, and plan the repairs.

    Raises CheckpointBroken for damage without a safe repair; so, if nothing else is to be repaired,
    for a broken removed.json of an archive: only it says which offsets retention took.
    """
    paths = Paths(settings.root, spec)
    if first := after_what_was_begun(paths, WHO, lambda: doctor(spec, settings)):
        return _files_first(paths, first)
    try:
        read_removed(paths)
    except (CheckpointBroken, FormatNewer) as error:
        broken = error
    else:
        return _doctor(spec, settings)
    try:
        lines, execute = _doctor(spec, settings)
    except CheckpointBroken as error:
        raise broken.adding(error.what, error.remedy) from None
    if execute is None:
        raise broken.adding("; ".join(line for line in lines if line.startswith("damaged:")))

    def fix_the_rest() -> None:
        execute()
        raise broken  # the command has not made the checkpoint whole

    return Intent((*lines, f"not fixed: {broken}"), fix_the_rest)


def _files_first(paths: Paths, first: Intent) -> Intent:
    """The completion of a change that was begun needs whole files: they are mended before it."""
    known = read_identity(paths)
    if known is None:
        return first
    files = [*_cursor_repair(paths, known, find_cursor(paths, known).mending)]
    files += _failing_repair(paths)

    def execute() -> tuple[str, ...] | None:
        with lease(paths.lease, WHO) as held:
            for each in files:
                each.execute(held)
        return first.execute() if first.execute else None

    return Intent((*(f"fix: {repair.line}" for repair in files), *first.lines), execute)


def _doctor(spec: Pipeline, settings: Settings) -> Intent:
    paths = Paths(settings.root, spec)
    known = read_identity(paths)
    checkpoint = Checkpoint(paths.checkpoint)
    if known is None:
        return Intent(
            (f"{spec.name}: there is no checkpoint at {paths.version} yet; nothing to fix",), None
        )
    integrity = Integrity(checkpoint, stateful=spec.keeps_state)
    lines = [
        f"{spec.name}: {paths.version}, generation {known.generation}, "
        f"{_range(checkpoint.committed())} committed"
    ]
    lines += [f"damaged: {path} {reason}" for path, reason in integrity.damage.items()]
    lines += [
        f"{fault}: `sluice maintain {spec.name} --execute` writes them again"
        for fault in table_of(paths).faults()
    ]
    cursor, mending = find_cursor(paths, known)
    files = [
        *_cursor_repair(paths, known, mending),
        *_failing_repair(paths),
        *_metadata_repair(checkpoint, integrity),
        *(
            Step(f"remove {old.folder}: {old.why}", partial(_remove, paths, old))
            for old in leftovers(paths)
        ),
    ]
    logs = _fixes_of_logs(spec, settings, paths, integrity, known, cursor.audited)
    if found := to_mend(paths, cursor):
        lines.append(f"damaged: version {found.version} of {paths.table} is a person's RESTORE")
        logs = _with_table(spec, settings, integrity, known, found, logs)
    if not files and not logs:
        whole = "nothing to fix: the files from which the next run resumes are whole"
        if integrity.damage:
            whole += f"; you can rewind to {_range(integrity.restorable_batches)}"
        return Intent((*lines, whole), None)

    def execute() -> None:
        with leased(paths, WHO) as held:
            for each in files:
                each.execute(held)
        for repair in logs:
            repair.execute()

    todo = *(each.line for each in files), *(repair.line for repair in logs)
    return Intent((*lines, *(f"fix: {line}" for line in todo)), execute)


def _fixes_of_logs(
    spec: Pipeline,
    settings: Settings,
    paths: Paths,
    integrity: Integrity,
    known: Identity,
    audited: int,
) -> list[Repair]:
    """Empty if the next run can resume, and account for the batches after `audited`."""
    checkpoint = Checkpoint(paths.checkpoint)
    damage = integrity.damage
    restorable = integrity.restorable_batches
    planned, committed = checkpoint.planned(), checkpoint.committed()
    written = table_of(paths).newest_batch(known.owner(spec.name))
    last = max(committed, default=-1)
    newest = max([*planned, *committed, written], default=-1)
    entry, commit = (paths.checkpoint / log / str(newest) for log in ("offsets", "commits"))
    sound = newest in planned and entry not in damage
    torn = [
        int(path.name) for path in damage if path.parent.name == "offsets" and path.name.isdigit()
    ]
    unread = checkpoint.first_unplanned(range(audited + 1, last + 1), torn)
    if unread is not None:
        return [_go_back(spec, settings, integrity, unread - 1)]
    before = paths.checkpoint / "offsets" / str(newest - 1)
    readable = spec.keeps_state and sound and before not in damage
    incomplete = newest > last or commit in damage
    if readable and incomplete and checkpoint.moves_state(newest):
        return [_go_back(spec, settings, integrity, newest - 1)]
    if last in restorable or not committed:
        if newest == last or (newest == last + 1 and sound):
            return []
        if newest == last + 1 and written < newest:
            return [
                _set_aside(
                    paths,
                    entry,
                    f"batch {newest} has no rows in the table, and Spark plans it again",
                )
            ]
    if newest == last and sound and commit in damage and (last == 0 or last - 1 in restorable):
        return [
            _set_aside(
                paths, commit, f"batch {last} runs again, for its state; its rows are in the table"
            )
        ]
    return [_go_back(spec, settings, integrity, last)]


def _with_table(
    spec: Pipeline,
    settings: Settings,
    integrity: Integrity,
    known: Identity,
    found: Restored,
    logs: list[Repair],
) -> list[Repair]:
    paths = Paths(settings.root, spec)
    if any(repair.rewinds for repair in logs):
        return logs
    if can_unrestore(paths, found):
        mending = unrestore(spec, paths, known, found, WHO)
        return [Repair(in_words(paths, found), mending), *logs]
    return [_go_back(spec, settings, integrity, found.keeps), *logs]


def _go_back(spec: Pipeline, settings: Settings, integrity: Integrity, at_most: int) -> Repair:
    restorable = [batch for batch in integrity.restorable_batches if batch <= at_most]
    if spec.is_archive or not restorable:  # nothing rewinds an archive
        first = "; ".join(f"{path} {reason}" for path, reason in [*integrity.damage.items()][:5])
        raise CheckpointBroken.no_whole_batch(
            damage=first or "the offsets of batches without an account are gone", pipeline=spec.name
        )
    lines, execute = rewind(spec, settings, restorable[-1])
    assert execute is not None
    return Repair(
        f"go back to the end of batch {restorable[-1]}, the newest that is whole: "
        f"{'; '.join(lines[1:])}",
        execute,
        rewinds=True,
    )


def _metadata_repair(checkpoint: Checkpoint, integrity: Integrity) -> list[Step]:
    path = checkpoint.folder / "metadata"
    if path not in integrity.damage:
        return []

    def execute(_: Held) -> None:
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_text(json.dumps({"id": str(uuid.uuid4())}))

    return [
        Step(
            f"write {path} again, with a new query id: neither state nor table depends on it",
            execute,
        )
    ]


def _cursor_repair(paths: Paths, known: Identity, mending: str) -> list[Step]:
    return [Step(mending, partial(store_cursor, paths, known))] if mending else []


def _failing_repair(paths: Paths) -> list[Step]:
    try:
        read_failing(paths.failing)
    except CheckpointBroken:
        aside = paths.version / f"damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"
        return [
            Step(
                f"move {paths.failing} to {aside}: the next run finds failing records again",
                lambda _: set_aside(paths.failing, aside),
            )
        ]
    return []


def _remove(paths: Paths, leftover: Leftover, _: Held) -> None:
    remove_leftovers(paths, [leftover], WHO)


def _set_aside(paths: Paths, path: UPath, why: str) -> Repair:
    aside = paths.version / f"damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}" / path.parent.name

    def execute() -> None:
        with leased(paths, WHO):
            if path.exists():
                set_aside(path, aside)
            remove_orphan_checksums(Checkpoint(paths.checkpoint))

    return Repair(f"move {path} to {aside}: {why}", execute)


def _range(batches: list[int]) -> str:
    return f"batches {batches[0]} to {batches[-1]}" if batches else "no batch"
