"""Drain: what stands in for Spark. It writes what a real one writes, in its order: tests/spark/
test_stand_in.py holds it against one.
"""

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import deltalake
from deltalake.exceptions import CommitFailedError
from pyspark.sql.types import StructType
from upath import UPath

from spark_jobs.checkpoint import no_data_batch
from spark_jobs.checkpoint.identity import Identity, Present, read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.no_data_batch import NoDataBatch
from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.checkpoint.notes.noted_versions import note
from spark_jobs.errors import CheckFailed, LeaseLost, RecordsGone, SluiceError, TableContended
from spark_jobs.excise.adopt import adopt
from spark_jobs.journal.runner import leased, settle
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.report import CheckResult, Problem, Report
from spark_jobs.ops import ops_tables
from spark_jobs.runs.preflight import preflight, refuse_restored
from spark_jobs.runs.resume.marking import mark
from spark_jobs.runs.run_outcome import RunOutcome
from spark_jobs.runs.run_record import append_row, begun
from spark_jobs.settings.installation import Settings
from spark_jobs.side.pins import pin
from spark_jobs.source.micro_batch import Batch
from spark_jobs.source.sources import source_of
from spark_jobs.spec import Pipeline
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.object_store import require_writable
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Note
from tests.simulation import excising, keyed, spark
from tests.simulation.bucket import local
from tests.simulation.model import BAD_SALES, SHOPS, Begins, Key, Model, Rows
from tests.simulation.rows import EVENING, row_of, rows_in
from tests.simulation.spark import State
from tests.simulation.topic import Topic
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.repaired import DAY, SPEC, STRUCT, Root

CLOSING = NoDataBatch(0, "its windows are due")
CHECK = "expect_x"
COLUMNS = StructType.fromJson(STRUCT)


class Drain(NamedTuple):
    """One of a place, which it knows as it begins."""

    spec: Pipeline
    paths: Paths
    settings: Settings
    model: Model
    topic: Topic
    run_id: str
    closes: bool = False
    """Whether it ends with a batch that Sluice plans, which reads nothing."""

    def run(self) -> int:
        """Complete what an earlier drain left, then one batch; judge; its number. Raises what
        refuses it.
        """
        outcome = RunOutcome("drain", SPEC.name, self.run_id)
        report = Report(
            pipeline=SPEC.name,
            run_id=self.run_id,
            status="failed",
            started_at=outcome.started_at,
            ended_at=datetime.now(UTC),
        )
        try:
            report = self._run(outcome, report)
        except SluiceError as error:
            append_row(report.model_copy(update={"problem": Problem.of(error)}), self.settings.root)
            raise
        append_row(report, self.settings.root)
        return report.batches[-1]

    def _run(self, outcome: RunOutcome, report: Report) -> Report:
        require_writable(self.paths)
        settle(self.paths, self.run_id)
        with leased(self.paths, self.run_id) as held, begun(self.paths, outcome):
            source = source_of(self.spec, self.settings)
            found = preflight(Present(self.spec), source, self.paths, self.settings)
            held.confirm()
            checkpoint = found.checkpoint  # its own, whatever a rewind begins while it sleeps
            known = self._claim_table(found.identity, checkpoint.folder, held)
            cursor = read_cursor(self.paths.cursor)
            committed = checkpoint.committed()
            for batch in (each for each in committed if each > cursor.audited):
                cursor = self._account(checkpoint.batch(batch), known, cursor, held)
            pins = self._pinned(checkpoint, known, held)
            adopt(self.spec, self.paths, known, held, self.run_id)
            left = [each for each in checkpoint.planned() if each not in committed]
            batch = left[0] if left else max(committed, default=-1) + 1
            self._batch(batch, checkpoint, known, pins, held)
            cursor = self._account(checkpoint.batch(batch), known, cursor, held)
            if self.closes:
                batch = no_data_batch.write(checkpoint, CLOSING, datetime.now(UTC))
                self._batch(batch, checkpoint, known, pins, held)
                cursor = self._account(checkpoint.batch(batch), known, cursor, held)
            return self._judged(batch, known, cursor, held, report)

    def _claim_table(self, known: Identity, folder: UPath, held: Held) -> Identity:
        """With its table; behind a reset both are new."""
        if read_identity(self.paths) is None:
            known.put(self.paths.identity, held)
        columns = keyed.COLUMNS if self.spec.keyed else COLUMNS
        version = Delta(self.paths.table).ensure(columns, self.spec, known.generation, (), held)
        known = known.model_copy(
            update={"table_id": known.table_id or Delta(self.paths.table).identifier()}
        )
        if read_identity(self.paths) != known:
            known.over(self.paths.identity).put(self.paths.identity, held)
        cursor = read_cursor(self.paths.cursor)
        if cursor.judged_table_version is None:
            self._moved(cursor, held, judged_table_version=version)
        if not (folder / "sources" / "0" / "0").exists():
            remove_folder(folder)  # Spark begins again what was killed in between
            begin(folder, {0: self.topic.now.offset}, "sales")
        return known

    def _pinned(self, checkpoint: Checkpoint, known: Identity, held: Held) -> dict[str, Pin]:
        """The versions of the table beside the stream, as opening.py does it."""
        in_table = partial(Delta(self.paths.table).newest_batch, known.owner(SPEC.name))
        found = pin(checkpoint, in_table, self.spec, self.settings)
        own: Any = (None, self.spec, self.settings, self.paths, known.generations)
        mark(*own, found, held)
        note(found, checkpoint, held)
        return found.inputs

    def _batch(
        self, batch: int, checkpoint: Checkpoint, known: Identity, pins: dict[str, Pin], held: Held
    ) -> None:
        try:
            self._write(batch, checkpoint, known, pins, held)
        except FileExistsError:
            folder = checkpoint.folder
            raise LeaseLost.planned_elsewhere(batch=batch, folder=folder) from None
        except CommitFailedError as error:
            raise TableContended.written_meanwhile(
                path=self.paths.table, conflict="a commit", error=error
            ) from None

    def _write(
        self, batch: int, checkpoint: Checkpoint, known: Identity, pins: dict[str, Pin], held: Held
    ) -> None:
        folder = checkpoint.folder
        stores = spark.resumes(checkpoint, batch)
        if batch not in checkpoint.planned():
            end = {0: _first(checkpoint, batch) + 1}
            plan_batch(folder, batch, end, topic="sales", partitions=stores)
        planned = checkpoint.batch(batch)
        read, owner = planned.start.by_partition[0], known.owner(SPEC.name)
        if Delta(self.paths.table).newest_batch(owner) < batch:
            if planned.covered and read < self.topic.now.offset:
                raise RecordsGone.unread_removed(loss="offsets", reset="sluice reset")
            refused = excising.why(self.paths, read)
            of = self.topic.now._replace(offset=read) if planned.covered and not refused else None
            said: Note = {"sluice": owner, "batch": batch, "run": self.run_id}
            if self.spec.keyed:
                keyed.merge(of, self.model, (batch, said), self.paths, held)
            else:
                version = pins["shops"].version if pins else None
                self._append(of, version, said, deltalake.Transaction(owner, batch), held)
        spark.keep(folder, batch, State(planned.end.by_partition[0], stores))
        commit_batch(folder, batch)

    def _append(
        self,
        of: Begins | None,
        version: int | None,
        said: Note,
        mark: deltalake.Transaction,
        held: Held,
    ) -> None:
        rows = [
            row_of(Key(of.offset, shop), self.model.sales(of, shop), version)
            for shop in SHOPS
            if of
        ]
        held.confirm()
        told = {"userMetadata": json.dumps(said)}
        Root(self.settings.root, paths=self.paths).append(rows, told, [mark])

    def _account(self, done: Batch, known: Identity, cursor: Cursor, held: Held) -> Cursor:
        if self.spec.keyed:
            keyed.account_holds(self.paths.table, known.owner(SPEC.name), done.id)
        read, first = done.covered, done.start.by_partition.get(0, 0)
        why = excising.why(self.paths, first) if read and not self.spec.keyed else None
        bad = int(why is not None)
        good = read - bad
        counts = Account(covered=read, read=read, malformed=bad, accepted=good, rows_out=good).row()
        now, batch = Delta(self.paths.table).version(), done.id
        at = DAY + timedelta(hours=EVENING + done.start.by_partition.get(0, 0), minutes=30)
        told = counts | {
            "pipeline": SPEC.name,
            "generation": known.generation,
            "batch_id": batch,
            "run_id": self.run_id,
            "offsets_start": done.start.json,
            "offsets_end": done.end.json,
            "audited_at": datetime.now(UTC),
            "watermark": DAY + timedelta(hours=EVENING + done.end.by_partition[0] - 1),
            **({"first_event_time": at, "last_event_time": at} if good else {}),
            "table_version": now,
        }
        where = ops_tables.equals(
            {"pipeline": SPEC.name, "generation": known.generation, "batch_id": batch}
        )
        if why:
            row = excising.quarantined(self.paths, batch, self.run_id, first, why)
            ops_tables.replace(self.paths.root, "quarantine", [row], where, held)
        ops_tables.replace(self.paths.root, "batches", [told], where, held)
        return self._moved(cursor, held, audited=batch)

    def _judged(
        self, batch: int, known: Identity, cursor: Cursor, held: Held, report: Report
    ) -> Report:
        """Great Expectations' part: no row that is not judged yet is bad."""
        judged = Delta(self.paths.table).version()
        refuse_restored(self.paths, cursor.judged_table_version)
        folder = local(self.paths.table)
        before: Rows = {}
        with suppress(FileNotFoundError):  # a person's VACUUM: all rows are judged
            before = rows_in(folder, cursor.judged_table_version)
        red = [k for k, n in rows_in(folder).items() if n == BAD_SALES and before.get(k) != n]
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
            passed = {"judged": batch, "judged_table_version": judged}
            self._moved(cursor, held, **passed, judged_generation=known.generation)
        return report.model_copy(
            update={
                "status": "failed" if red else "succeeded",
                "problem": Problem(code=CheckFailed.code, what="rows are bad") if red else None,
                "ended_at": datetime.now(UTC),
                "generation": known.generation,
                "table_version": judged,
                "table_version_before": cursor.judged_table_version,
                "batches": (batch,),
                "checks": (result,),
            }
        )

    def _moved(self, cursor: Cursor, held: Held, **changes: int | str | None) -> Cursor:
        moved = cursor.model_copy(update=changes)
        moved.put(self.paths.cursor, held)
        return moved


def _first(checkpoint: Checkpoint, batch: int) -> int:
    """The offset that a new batch reads."""
    if batch:
        return checkpoint.batch(batch - 1).end.by_partition[0]
    noted = (checkpoint.folder / "sources" / "0" / "0").read_text().splitlines()[-1]
    return int(json.loads(noted)["sales"]["0"])
