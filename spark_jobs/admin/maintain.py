"""Maintain: what grows with every run is joined, or removed once nobody needs it.

The pipeline's table and its rows in the ops tables by pipeline, under its lease; then the ops
tables as such. Each step is complete in itself, and done again finds nothing to do: a kill between
two of them, or within one, loses nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from spark_jobs.admin.care import (
    dead_checkpoints,
    dead_places,
    forgotten_steps,
    kept_steps,
    remove_place,
    settled_steps,
    table_steps,
)
from spark_jobs.admin.expired import cutoff, expired
from spark_jobs.admin.intent import Intent, Step, after_what_was_begun
from spark_jobs.checkpoint.notes.live import GRACE
from spark_jobs.journal.runner import leased
from spark_jobs.ops import ops_tables
from spark_jobs.registry.archive_spec import ArchiveSpec
from spark_jobs.repair.exchange.staging import KEPT, leftovers, remove_leftovers
from spark_jobs.repair.find.plan import PLAN
from spark_jobs.settings.installation import Settings
from spark_jobs.side.dimension import KEPT as CONTENTS
from spark_jobs.spec import Pipeline
from spark_jobs.storage.folders import files_before, remove_files, remove_folder
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.pin import INPUTS
from spark_jobs.storage.root.paths import CHECKPOINTS, OPS_TABLES, Paths, report_folders
from spark_jobs.storage.root.store import opened
from spark_jobs.table.port import RETENTION
from spark_jobs.table.shared import maintenance

if TYPE_CHECKING:
    from pathlib import Path

    from upath import UPath


def _step(line: str, execute: Callable[[], object]) -> Step:
    return Step(line, lambda _: execute())


def maintain(spec: Pipeline, settings: Settings) -> Intent:
    """Maintain one pipeline's table, ops rows, reports.

    When executed, raises LeaseHeld while a run works, LeaseLost, or MaintenanceRefused for a table
    with a feature that only Spark writes; all other steps are done then.
    """
    paths = Paths(settings.root, spec)
    if first := after_what_was_begun(paths, "sluice maintain", lambda: maintain(spec, settings)):
        return first
    planned = tuple(step.line for step in _steps(spec, settings, paths))
    if not planned:
        return Intent((f"{spec.name}: nothing to do",), None)

    def execute() -> tuple[str, ...]:
        require_writable(paths)
        done = []
        with leased(paths, "sluice maintain") as held:
            for step in _steps(spec, settings, paths):
                held.confirm()  # without it, another run may write these tables now
                step.execute(held)
                done.append(f"done: {step.line}")
        return tuple(done)

    return Intent((f"{spec.name}:", *planned), execute)


def maintain_ops(settings: Settings) -> Intent:
    """Remove the unused files of the ops tables, and write checkpoints of their logs. Remove what
    is kept of files beside streams and read no more.

    Needs no lease: each is safe beside writers.
    """
    root = opened(settings.root)
    tables = [root / "ops" / name for name in OPS_TABLES if ops_tables.exists(root, name)]
    if not tables:
        return Intent((), None)
    unused = {path: maintenance.vacuum(path, execute=False) for path in tables}
    contents = _unread(root, datetime.now(UTC) - GRACE)

    def execute() -> None:
        remove_files(contents)
        for path in tables:
            maintenance.vacuum(path, execute=True)
            maintenance.checkpoint(path)

    return Intent(
        (
            "ops tables:",
            *(
                f"remove {count} files of ops.{path.name} that it has not had for "
                f"{RETENTION.days} days"
                for path, count in unused.items()
                if count
            ),
            *(
                (f"remove {len(contents):,} contents of files beside streams, read no more",)
                if contents
                else ()
            ),
            f"write a checkpoint of the log of {', '.join(f'ops.{path.name}' for path in tables)}",
        ),
        execute,
    )


def _steps(spec: Pipeline, settings: Settings, paths: Paths) -> Iterator[Step]:
    """The table comes last: it may be refused."""
    now = datetime.now(UTC)
    yield from _ops_steps(spec.name, settings, paths, now)
    yield from _report_steps(spec.name, settings, now)
    if found := leftovers(paths, now):
        yield _step(
            f"remove {len(found):,} staging folders of repairs, which nobody needs any more",
            partial(remove_leftovers, paths, found, "sluice maintain"),
        )
    for folder in dead_checkpoints(paths, now):
        yield _step(
            f"remove {folder}, which a rewind or a repartition has left",
            partial(remove_folder, folder),
        )
    # What an archive had before a reset, Kafka may have no longer: a person removes it, if anybody.
    for dead in () if spec.is_archive else dead_places(paths, now):
        yield Step(
            f"remove {dead.folder} and {dead.table}, which are live no more since "
            f"{dead.since:%F %H:%M} UTC",
            partial(remove_place, paths, dead),
        )
    yield from settled_steps(paths, spec, now - KEPT)
    if isinstance(spec, ArchiveSpec) and spec.keep is not None:
        yield from kept_steps(paths, now - spec.keep)
    if spec.keyed and (after := spec.keyed.forgets_after):
        yield from forgotten_steps(paths, now - after)
    for line, execute in table_steps(paths, spec):
        yield _step(line, execute)


def _ops_steps(pipeline: str, settings: Settings, paths: Paths, now: datetime) -> Iterator[Step]:
    ops, conditions = paths.root / "ops", expired(paths, pipeline, settings, now)
    if where := conditions.get("late"):
        yield from _slice_steps(paths.root, f"{where} AND late > 0")
    for name, where in conditions.items():
        if rows := _count(paths.root, name, where):
            yield _step(
                f"remove {rows:,} rows of ops.{name} that have expired",
                partial(maintenance.remove, ops / name, where),
            )
    for name in OPS_TABLES:
        if files := maintenance.small_files(ops / name, pipeline):
            yield _step(
                f"join {files:,} small files of ops.{name}",
                partial(maintenance.join, ops / name, pipeline),
            )


def _slice_steps(root: UPath, where: str) -> Iterator[Step]:
    """A step, if there are slices that leave late records out, whose rows have expired."""
    if slices := _count(root, "slices", where):
        to = {
            "first_event_time": _either("first_event_time", "<", "first_late_time"),
            "last_event_time": _either("last_event_time", ">", "last_late_time"),
            "late": "0",
            "first_late_time": "NULL",
            "last_late_time": "NULL",
        }
        yield _step(
            f"let {slices:,} slices have the times of their late records, whose rows have expired",
            partial(maintenance.update, root / "ops" / "slices", to, where),
        )


def _either(one: str, sign: str, other: str) -> str:
    return f"CASE WHEN {one} {sign} {other} THEN {one} ELSE {other} END"


def _count(root: UPath, table: str, where: str) -> int:
    counted = ops_tables.query(root, table, f"SELECT count(*) AS n FROM {table} WHERE {where}")
    return int(counted.to_pylist()[0]["n"])


def _report_steps(pipeline: str, settings: Settings, now: datetime) -> Iterator[Step]:
    before = cutoff(settings.history_days, now)
    if before is None:
        return
    for folder in report_folders(settings.root, pipeline):
        if old := files_before(folder, before):
            yield _step(
                f"remove {len(old):,} reports from {folder} that have expired",
                partial(remove_files, old),
            )


def _unread(root: UPath, before: datetime) -> list[UPath | Path]:
    """The contents of files beside streams (side/of_file.py) that no batch has which Spark
    remembers, nor a repair that is staged, and that nobody has kept since `before`. Nothing where a
    note is torn: it may name any.
    """
    if not (found := files_before(root / CONTENTS, before)):
        return []
    named = set[str]()
    for note in (
        *(root / CHECKPOINTS).glob(f"*/*/*/{INPUTS}/[0-9]*"),
        *(root / "staging").glob(f"*/*/{PLAN}"),
    ):
        try:
            inputs = json.loads(note.read_bytes()).get("inputs", {})
            named |= {pin["table_id"] for pin in inputs.values()}
        except FileNotFoundError:  # forgotten meanwhile
            continue
        except (ValueError, TypeError, KeyError, AttributeError):
            return []
    return [path for path in found if path.stem not in named]
