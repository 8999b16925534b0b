"""Doctor: finds damaged files of a checkpoint and beside it, and repairs what is safe.

Shows the repairs before it makes them.

Of the repairs of logs and state, it makes the first that applies. It moves a torn entry of the
offset log away if the table has no row of that batch. It moves a torn entry of the commit log away,
so that Spark runs the batch again for its state. Otherwise it rewinds checkpoint, table and ops
tables to the newest complete batch, as `sluice rewind` does. If no batch is complete, it raises and
changes nothing. Files that it moves away are kept in `damaged-<time>` beside the checkpoint.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.admin.reset import Intent, rewind
from spark_jobs.checkpoint.cursor import Cursor, read_cursor
from spark_jobs.checkpoint.failing import read_failing
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.integrity import Integrity, remove_orphan_checksums
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.errors import CheckpointBroken
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.report import StateUse, parse_report
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import Row
from spark_jobs.sink import table
from spark_jobs.storage.folders import set_aside

if TYPE_CHECKING:
    from upath import UPath


class Repair(NamedTuple):
    """One repair."""

    line: str
    """What it does, for the user."""
    execute: Callable[[], object]
    """Does it."""


def doctor(spec: Pipeline, settings: Settings) -> Intent:
    """Check every file of the checkpoint, and plan the repairs.

    Raises CheckpointBroken for damage without a safe repair.
    """
    paths = Paths(settings.root, spec)
    known = read_identity(paths)
    checkpoint = Checkpoint(paths.checkpoint)
    if known is None:
        return Intent(
            (f"{spec.name}: there is no checkpoint at {paths.version} yet; nothing to fix",), None
        )
    integrity = Integrity(checkpoint)
    lines = [
        f"{spec.name}: {paths.version}, generation {known.generation}, "
        f"{_range(checkpoint.committed())} committed"
    ]
    lines += [f"damaged: {path} {reason}" for path, reason in integrity.damage.items()]
    files = [
        *_cursor_repair(spec, paths, known),
        *_failing_repair(paths),
        *_metadata_repair(checkpoint, integrity),
    ]
    logs = _log_repairs(spec, settings, paths, integrity, known)
    if not files and not logs:
        restorable = (
            f"; you can rewind to {_range(integrity.restorable_batches)}"
            if integrity.damage
            else ""
        )
        return Intent(
            (
                *lines,
                f"nothing to fix: the files from which the next run resumes are whole{restorable}",
            ),
            None,
        )

    def execute() -> None:
        with lease(paths.lease, "sluice doctor"):
            for repair in files:
                repair.execute()
        for repair in logs:
            repair.execute()

    return Intent((*lines, *(f"fix: {repair.line}" for repair in (*files, *logs))), execute)


def _log_repairs(
    spec: Pipeline, settings: Settings, paths: Paths, integrity: Integrity, known: Identity
) -> list[Repair]:
    """The repair of the logs and the state; empty if the next run can resume."""
    checkpoint = Checkpoint(paths.checkpoint)
    damage = integrity.damage
    restorable = integrity.restorable_batches
    planned, committed = checkpoint.planned(), checkpoint.committed()
    written = table.newest_batch(paths.table, known.owner(spec.name))
    last = max(committed, default=-1)
    newest = max([*planned, *committed, written], default=-1)
    entry, commit = (paths.checkpoint / log / str(newest) for log in ("offsets", "commits"))
    sound = newest in planned and entry not in damage
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
    if not restorable:
        first = "; ".join(f"{path} {reason}" for path, reason in list(damage.items())[:5])
        raise CheckpointBroken(
            f"{first}: no batch of {spec.name} is whole, so there is none to rewind to.",
            f"Restore the files, or start again from Kafka: sluice reset {spec.name}",
        )
    lines, execute = rewind(spec, settings, restorable[-1])
    assert execute is not None
    return [
        Repair(
            f"go back to the end of batch {restorable[-1]}, the newest that is whole: "
            f"{'; '.join(lines[1:])}",
            execute,
        )
    ]


def _metadata_repair(checkpoint: Checkpoint, integrity: Integrity) -> list[Repair]:
    path = checkpoint.folder / "metadata"
    if path not in integrity.damage:
        return []

    def execute() -> None:
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_text(json.dumps({"id": str(uuid.uuid4())}))

    return [
        Repair(
            f"write {path} again, with a new query id: neither state nor table depends on it",
            execute,
        )
    ]


def _cursor_repair(spec: Pipeline, paths: Paths, known: Identity) -> list[Repair]:
    try:
        read_cursor(paths.cursor)
    except CheckpointBroken:
        return [
            Repair(
                f"write {paths.cursor} again, from ops.batches and ops.runs",
                lambda: _cursor(spec, paths, known).write(paths.cursor),
            )
        ]
    return []


def _failing_repair(paths: Paths) -> list[Repair]:
    try:
        read_failing(paths.failing)
    except CheckpointBroken:
        aside = paths.version / f"damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"
        return [
            Repair(
                f"move {paths.failing} to {aside}: the next run finds failing records again",
                lambda: set_aside(paths.failing, aside),
            )
        ]
    return []


def _set_aside(paths: Paths, path: UPath, why: str) -> Repair:
    aside = paths.version / f"damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}" / path.parent.name

    def execute() -> None:
        with lease(paths.lease, "sluice doctor"):
            if path.exists():
                set_aside(path, aside)
            remove_orphan_checksums(Checkpoint(paths.checkpoint))

    return Repair(f"move {path} to {aside}: {why}", execute)


def _cursor(spec: Pipeline, paths: Paths, known: Identity) -> Cursor:
    """The cursor, made from ops.batches and ops.runs.

    Batches that may not have passed are checked again.
    """
    where = f"pipeline = '{spec.name}'"
    generations = ", ".join(f"'{each}'" for each in known.generations)
    batches: list[Row] = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT * FROM batches WHERE {where} AND generation IN ({generations}) ORDER BY batch_id",
    ).to_pylist()
    runs = ops_tables.query(
        paths.root,
        "runs",
        f"SELECT run_id, report FROM runs WHERE {where} AND status = 'succeeded' "
        "ORDER BY ended_at DESC",
    ).to_pylist()
    reports = (
        parse_report(run["report"], f"the report of run {run['run_id']} in ops.runs")
        for run in runs
    )
    passed = next(
        (report for report in reports if report.generation in known.generations and report.batches),
        None,
    )
    last = batches[-1] if batches else {}
    return Cursor(
        audited=last.get("batch_id", -1),
        judged=passed.batches[-1] if passed else -1,
        judged_table_version=passed.table_version if passed else 0,
        table_version=max(
            (row["table_version"] for row in batches if row["table_version"] is not None),
            default=None,
        ),
        state=StateUse(rows=last.get("state_rows") or 0, bytes=last.get("state_bytes") or 0),
        last_event_time=max(
            (row["last_event_time"] for row in batches if row["last_event_time"]), default=None
        ),
        timers_waiting=None,
    )


def _range(batches: list[int]) -> str:
    return f"batches {batches[0]} to {batches[-1]}" if batches else "no batch"
