"""Doctor: what is damaged in a checkpoint and beside it, and the safe way to go on: shown first, done on request.

In this order: an entry of a log that is torn and stands for nothing yet is set aside; a batch whose commit is torn is run again
for its state; otherwise checkpoint, table and account go back to the newest batch that is whole, as `sluice rewind` does. Where
nothing is whole it says so, and does nothing. What is set aside stays in `damaged-<time>` beside the checkpoint.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from spark_jobs.admin.reset import Intent, rewind
from spark_jobs.checkpoint.cursor import Cursor, read_cursor
from spark_jobs.checkpoint.identity import Identity, stored
from spark_jobs.checkpoint.integrity import Integrity, drop_orphans
from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.errors import CheckpointBroken
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.report import Report, StateUse
from spark_jobs.contract.settings import Settings
from spark_jobs.contract.spec import Pipeline
from spark_jobs.ops import ops_tables
from spark_jobs.sink import table
from spark_jobs.storage.folders import set_aside

if TYPE_CHECKING:
    from upath import UPath


class Repair(NamedTuple):
    """One thing to do, in words, and the doing of it."""

    line: str
    execute: Callable[[], object]


def doctor(spec: Pipeline, settings: Settings) -> Intent:
    """Look at every file of the checkpoint. Raises CheckpointBroken where there is damage that no repair is safe for."""
    paths = Paths(settings.root, spec)
    known, checkpoint = stored(paths), Checkpoint(paths.checkpoint)
    if known is None:
        return Intent((f"{spec.name}: there is no checkpoint at {paths.version} yet; nothing to fix",), None)
    integrity = Integrity(checkpoint)
    lines = [f"{spec.name}: {paths.version}, generation {known.generation}, {_span(checkpoint.committed())} committed"]
    lines += [f"damaged: {path} {reason}" for path, reason in integrity.damage.items()]
    small = [*_beside(spec, paths, known), *_metadata(checkpoint, integrity)]
    logs = _logs(spec, settings, paths, integrity, known)
    if not small and not logs:
        held = f"; one can go back to {_span(integrity.whole)}" if integrity.damage else ""
        return Intent((*lines, f"nothing to fix: what the next run goes on from is whole{held}"), None)

    def execute() -> None:
        with lease(paths.lease, "sluice doctor"):
            for repair in small:
                repair.execute()
        for repair in logs:
            repair.execute()

    return Intent((*lines, *(f"fix: {repair.line}" for repair in (*small, *logs))), execute)


def _logs(spec: Pipeline, settings: Settings, paths: Paths, integrity: Integrity, known: Identity) -> list[Repair]:
    """What fixes the logs and the state, or nothing where the next run can go on."""
    checkpoint, whole, damage = Checkpoint(paths.checkpoint), integrity.whole, integrity.damage
    planned, committed = checkpoint.planned(), checkpoint.committed()
    done = table.newest_batch(paths.table, known.owner(spec.name))
    last, newest = max(committed, default=-1), max([*planned, *committed, done], default=-1)
    begun, commit = (paths.checkpoint / log / str(newest) for log in ("offsets", "commits"))
    sound = newest in planned and begun not in damage
    if last in whole or not committed:
        if newest == last or (newest == last + 1 and sound):
            return []
        if newest == last + 1 and done < newest:
            return [_set_aside(paths, begun, f"batch {newest} was begun, nothing of it is in the table: it is planned anew")]
    if newest == last and sound and commit in damage and (last == 0 or last - 1 in whole):
        return [_set_aside(paths, commit, f"batch {last} runs again, for its state; its rows are in the table")]
    if not whole:
        found = "; ".join(f"{path} {reason}" for path, reason in list(damage.items())[:5])
        raise CheckpointBroken(f"{found}: no batch of {spec.name} is whole, and there is nothing to go back to.",
                               f"Put the files back, or begin anew from Kafka: sluice reset {spec.name}")
    lines, execute = rewind(spec, settings, whole[-1])
    assert execute is not None
    return [Repair(f"go back to the end of batch {whole[-1]}, the newest that is whole: {'; '.join(lines[1:])}", execute)]


def _metadata(checkpoint: Checkpoint, integrity: Integrity) -> list[Repair]:
    path = checkpoint.folder / "metadata"
    if path not in integrity.damage:
        return []

    def execute() -> None:
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        path.write_text(json.dumps({"id": str(uuid.uuid4())}))

    return [Repair(f"write {path} anew: it holds the query's own id, by which neither state nor table goes", execute)]


def _beside(spec: Pipeline, paths: Paths, known: Identity) -> list[Repair]:
    try:
        read_cursor(paths.cursor)
    except CheckpointBroken:
        return [Repair(f"write {paths.cursor} anew, from ops.batches and ops.runs",
                       lambda: _cursor(spec, paths, known).write(paths.cursor))]
    return []


def _set_aside(paths: Paths, path: UPath, why: str) -> Repair:
    aside = paths.version / f"damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}" / path.parent.name

    def execute() -> None:
        with lease(paths.lease, "sluice doctor"):
            if path.exists():
                set_aside(path, aside)
            drop_orphans(Checkpoint(paths.checkpoint))

    return Repair(f"move {path} to {aside}: {why}", execute)


def _cursor(spec: Pipeline, paths: Paths, known: Identity) -> Cursor:
    """The cursor as the account tells it; what no run has passed for sure is judged again."""
    ours = f"pipeline = '{spec.name}'"
    batches: list[dict[str, Any]] = ops_tables.query(
        paths.root, "batches",
        f"SELECT * FROM batches WHERE {ours} AND generation = '{known.generation}' ORDER BY batch_id").to_pylist()
    runs = ops_tables.query(
        paths.root, "runs", f"SELECT report FROM runs WHERE {ours} AND status = 'succeeded' ORDER BY ended_at DESC").to_pylist()
    reports = (Report.model_validate_json(run["report"]) for run in runs)
    passed = next((report for report in reports if report.generation == known.generation and report.batches), None)
    last = batches[-1] if batches else {}
    return Cursor(
        audited=last.get("batch_id", -1), judged=passed.batches[-1] if passed else -1,
        judged_table_version=passed.table_version if passed else 0,
        table_version=max((row["table_version"] for row in batches if row["table_version"] is not None), default=None),
        state=StateUse(rows=last.get("state_rows") or 0, bytes=last.get("state_bytes") or 0),
        last_event_time=max((row["last_event_time"] for row in batches if row["last_event_time"]), default=None),
        timers_waiting=None,
    )


def _span(batches: list[int]) -> str:
    return f"batches {batches[0]} to {batches[-1]}" if batches else "no batch"
