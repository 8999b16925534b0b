"""Drain: what stands in for Spark and Kafka. It writes what a real one writes, in its order."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import deltalake

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.lease import HeldLease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.fingerprint.environment import environment
from spark_jobs.fingerprint.fields import fingerprint
from spark_jobs.journal.runner import leased
from spark_jobs.messages.report import Account, CheckResult, Problem, Report
from spark_jobs.ops import ops_tables
from spark_jobs.root.paths import Paths
from spark_jobs.runs.run_record import append_row
from spark_jobs.settings.installation import Settings
from spark_jobs.sink import table
from spark_jobs.sink.restored import refuse_restored
from spark_jobs.spec import Pipeline
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.object_store import require_writable
from tests.simulation.model import BAD_SALES, SHOPS, Key, Model
from tests.simulation.rows import EVENING, row_of, rows_in
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.repaired import DAY, SPEC, STRUCT, Root

CHECK = "expect_x"
COLUMNS: Any = SimpleNamespace(json=lambda: json.dumps(STRUCT), jsonValue=lambda: STRUCT)


class Drain(NamedTuple):
    """One of a place, which it knows as it begins."""

    spec: Pipeline
    paths: Paths
    settings: Settings
    model: Model
    folder: Path
    """Of the root."""

    def run(self) -> int:
        """Complete what an earlier drain left, then one batch; judge; its number."""
        require_writable(self.paths)
        with leased(self.spec, self.paths, "drain") as held:
            require_writable(self.paths)
            known = self._identity(held)
            cursor = read_cursor(self.paths.cursor)
            owner = known.owner(SPEC.name)
            table.refuse_replaced(self.paths.table, SPEC.name, known.table_id)
            refuse_restored(self.paths, cursor.judged_table_version)
            checkpoint = Checkpoint(self.paths.checkpoint)
            table.refuse_ahead(self.paths.table, owner, checkpoint)
            committed = checkpoint.committed()
            for batch in (each for each in committed if each > cursor.audited):
                self._account(batch, known, held)
            left = [each for each in checkpoint.planned() if each not in committed]
            batch = left[0] if left else max(committed, default=-1) + 1
            self._batch(batch, known, held)
            self._account(batch, known, held)
            self._judge(batch, known, held)
        return batch

    def _identity(self, held: HeldLease) -> Identity:
        """The checkpoint's; behind a reset that of a new one, with its table."""
        held.confirm()
        known = read_identity(self.paths)
        if known is None:
            known = _identity(self.spec)
            known.put(self.paths.identity, held)
        if not self.paths.cursor.exists():
            Cursor(judged_table_version=0).put(self.paths.cursor, held)
        folder = self.paths.checkpoint
        if not (folder / "sources" / "0" / "0").exists():
            remove_folder(folder)  # Spark begins again what was killed in between
            begin(folder, {0: 0}, "sales")
        if not known.table_id:
            table.ensure(self.paths.table, COLUMNS, self.spec, known.generation)
            known = known.model_copy(update={"table_id": table.identifier(self.paths.table)})
            known.put(self.paths.identity, held)
        return known

    def _batch(self, batch: int, known: Identity, held: HeldLease) -> None:
        folder = self.paths.checkpoint
        if batch not in Checkpoint(folder).planned():
            held.confirm()
            plan_batch(folder, batch, {0: batch + 1}, topic="sales")
        owner = known.owner(SPEC.name)
        if table.newest_batch(self.paths.table, owner) < batch:
            rows = [row_of(Key(batch, shop), self.model.sales(batch, shop)) for shop in SHOPS]
            said = {"userMetadata": json.dumps({"sluice": owner, "batch": batch})}
            held.confirm()
            Root(self.settings.root, paths=self.paths).append(
                rows, said, [deltalake.Transaction(owner, batch)]
            )
        store = folder / "state" / "0" / "0"
        store.mkdir(parents=True, exist_ok=True)
        (store / f"{batch + 1}.snapshot").write_bytes(b"state")
        held.confirm()
        commit_batch(folder, batch)

    def _account(self, batch: int, known: Identity, held: HeldLease) -> None:
        counts = Account(covered=1, read=1, accepted=1, rows_out=1).model_dump()
        now = table.version(self.paths.table)
        told = counts | {
            "pipeline": SPEC.name,
            "generation": known.generation,
            "batch_id": batch,
            "run_id": f"run-{batch}",
            "offsets_start": "{}",
            "offsets_end": json.dumps({0: batch + 1}),
            "audited_at": datetime.now(UTC),
            "watermark": DAY + timedelta(hours=EVENING + batch),
            "table_version": now,
        }
        where = ops_tables.equals(
            {"pipeline": SPEC.name, "generation": known.generation, "batch_id": batch}
        )
        held.confirm()
        ops_tables.replace(self.paths.root, "batches", [told], where)
        self._move(held, audited=batch, table_version=now)

    def _judge(self, batch: int, known: Identity, held: HeldLease) -> None:
        """Great Expectations' part: no row that is not judged yet is bad."""
        cursor, judged = read_cursor(self.paths.cursor), table.version(self.paths.table)
        refuse_restored(self.paths, cursor.judged_table_version)
        folder = self.folder / "tables" / self.paths.table.name
        before = rows_in(folder, cursor.judged_table_version)
        red = [k for k, n in rows_in(folder).items() if n == BAD_SALES and before.get(k) != n]
        now = datetime.now(UTC)
        result = CheckResult.model_validate(
            {
                "suite": "output",
                "type": CHECK,
                "column": "n",
                "severity": "critical",
                "outcome": "failed" if red else "passed",
                "unexpected": len(red),
            }
        )
        if not red:
            self._move(held, judged=batch, judged_table_version=judged)
        append_row(
            Report(
                pipeline=SPEC.name,
                run_id=f"run-{batch}",
                status="failed" if red else "succeeded",
                problem=Problem(code="CHECK_FAILED", what="") if red else None,
                started_at=now,
                ended_at=now,
                generation=known.generation,
                table_version=judged,
                table_version_before=cursor.judged_table_version,
                batches=(batch,),
                checks=(result,),
            ),
            self.settings.root,
        )

    def _move(self, held: HeldLease, **changes: int | None) -> None:
        read_cursor(self.paths.cursor).model_copy(update=changes).put(self.paths.cursor, held)


def _identity(spec: Pipeline) -> Identity:
    """That of a checkpoint without a table."""
    return Identity(
        generation=uuid.uuid4().hex[:8],
        topic_id="topic-1",
        fingerprint=fingerprint(spec, version("pyspark")),
        environment=environment(spec),
    )
