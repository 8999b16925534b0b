"""World: one root with real Delta logs, the commands of the product over it, and who listens.

Only Spark and Kafka are stood in for: `drain` writes what a real one writes, in its order
(test_trace.py holds it against a real drain).
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import deltalake
import pyarrow as pa

from spark_jobs.admin.accept import accept
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.cursor import Cursor, read_cursor
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.contract.environment import environment
from spark_jobs.contract.event import Event
from spark_jobs.contract.fingerprint import fingerprint
from spark_jobs.contract.report import Account, CheckResult, Problem, Report
from spark_jobs.journal.runner import leased
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.swap import swap
from spark_jobs.repair.undo import undo
from spark_jobs.runs.due import Announced
from spark_jobs.runs.publication import publish
from spark_jobs.runs.run_record import append_row
from spark_jobs.sink import table
from spark_jobs.sink.restored import refuse_restored
from tests.simulation.model import (
    BAD_SALES,
    SHOPS,
    Batch,
    Deed,
    Delete,
    Key,
    Model,
    Rows,
    Swap,
    Undo,
)
from tests.simulation.places import _arrive
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.repaired import DAY, NULLABLE, SPEC, STRUCT, Root, hour, row

CHECK = "expect_x"
COLUMNS: Any = SimpleNamespace(json=lambda: json.dumps(STRUCT), jsonValue=lambda: STRUCT)


def identity(generation: str) -> Identity:
    """That of a checkpoint without a table."""
    return Identity(
        generation=generation,
        topic_id="topic-1",
        fingerprint=fingerprint(SPEC, version("pyspark")),
        environment=environment(SPEC),
    )


class World:
    """A root, what its commands do, and what consumers have been told."""

    def __init__(self, folder: Path, bad: frozenset[int]) -> None:
        self.made = Root(folder, hourly=True)
        self.paths, self.settings = self.made.paths, self.made.settings
        self.bad = bad
        self.model = Model(bad)
        self.airflow: list[Event] = []
        """The events that consumers had, in their order."""
        self.by_day: dict[date, Rows] = {}
        """What a consumer has of each day that it was told of."""
        self.resets = 0
        """How often a person began to start again."""
        self.accepted = 0
        """How often a person began to accept a failed check."""

    # What is there

    def rows(self, path: Any = None, at: int | None = None) -> Rows:
        """The rows of the table, or of another."""
        if not deltalake.DeltaTable.is_deltatable(str(path or self.paths.table)):
            return {}
        read = deltalake.DeltaTable(str(path or self.paths.table), version=at)
        found = deltalake.QueryBuilder().register("t", read).execute("SELECT * FROM t")
        rows: Rows = {}
        for each in pa.table(found.read_all()).cast(NULLABLE).to_pylist():
            key = Key(int((each["windowEnd"] - hour(0)) / timedelta(hours=1)), each["shop"])
            assert key not in rows, f"two rows of {key}"
            rows[key] = each["sales"]
        return rows

    def published(self) -> Rows:
        """What consumers read; nothing before the first publish."""
        return self.rows(self.paths.published_table)

    def cursor(self) -> Cursor:
        return read_cursor(self.paths.cursor)

    # Commands

    def drain(self) -> int:
        """Complete what an earlier drain left, then one batch; judge; its number."""
        with leased(SPEC, self.paths, "drain"):
            known = self._identity()
            cursor = self.cursor()
            owner = known.owner(SPEC.name)
            table.refuse_replaced(self.paths.table, SPEC.name, known.table_id)
            refuse_restored(self.paths, cursor.judged_table_version)
            checkpoint = Checkpoint(self.paths.checkpoint)
            table.refuse_ahead(self.paths.table, owner, checkpoint)
            committed = checkpoint.committed()
            for batch in (each for each in committed if each > cursor.audited):
                self._account(batch, known)
            left = [each for each in checkpoint.planned() if each not in committed]
            batch = left[0] if left else max(committed, default=-1) + 1
            self._batch(batch, known)
            self._account(batch, known)
            self._judge(batch, known)
        return batch

    def _identity(self) -> Identity:
        """The checkpoint's; behind a reset that of a new one, with its table."""
        known = read_identity(self.paths)
        if known is None:
            made = identity(uuid.uuid4().hex[:8])
            self.paths.ensure_writable()
            made.write(self.paths.identity)
            known = made
        if not self.paths.cursor.exists():
            Cursor(judged_table_version=0).write(self.paths.cursor)
        folder = Path(str(self.paths.checkpoint))
        if not (folder / "sources").exists():  # Spark begins again what was killed in between
            shutil.rmtree(folder, ignore_errors=True)
            begin(folder, {0: 0}, "sales")
        if not known.table_id:
            table.ensure(self.paths.table, COLUMNS, SPEC, known.generation)
            known = known.model_copy(update={"table_id": table.identifier(self.paths.table)})
            known.write(self.paths.identity)
        return known

    def _batch(self, batch: int, known: Identity) -> None:
        folder = self.made.folder
        if batch not in Checkpoint(self.paths.checkpoint).planned():
            plan_batch(folder, batch, {0: batch + 1}, topic="sales")
        owner = known.owner(SPEC.name)
        if table.newest_batch(self.paths.table, owner) < batch:
            rows = [row(batch, shop, self.model.sales(batch, shop)) for shop in SHOPS]
            said = {"userMetadata": json.dumps({"sluice": owner, "batch": batch})}
            self.made.append(rows, said, [deltalake.Transaction(owner, batch)])
        store = folder / "state" / "0" / "0"
        store.mkdir(parents=True, exist_ok=True)
        (store / f"{batch + 1}.snapshot").write_bytes(b"state")
        commit_batch(folder, batch)

    def _account(self, batch: int, known: Identity) -> None:
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
            "watermark": DAY + timedelta(hours=batch),
            "table_version": now,
        }
        where = ops_tables.equals(
            {"pipeline": SPEC.name, "generation": known.generation, "batch_id": batch}
        )
        ops_tables.replace(self.paths.root, "batches", [told], where)
        self._move(audited=batch, table_version=now)

    def _judge(self, batch: int, known: Identity) -> None:
        """Great Expectations' part: no row that is not judged yet is bad."""
        cursor, judged = self.cursor(), table.version(self.paths.table)
        before = self.rows(at=cursor.judged_table_version)
        red = [k for k, n in self.rows().items() if n == BAD_SALES and before.get(k) != n]
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
            self._move(judged=batch, judged_table_version=judged)
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

    def _move(self, **changes: int | None) -> None:
        self.cursor().model_copy(update=changes).write(self.paths.cursor)

    def stage(self, repair: str, key: Key) -> Swap | None:
        """What a stage leaves for another number in one row; None where there is no such row."""
        if not deltalake.DeltaTable.is_deltatable(str(self.paths.table)):
            return None
        known = read_identity(self.paths)
        if known is None:
            return None
        before = self.rows().get(key)
        if before is None or before == BAD_SALES:
            return None
        deed = Swap(repair, key, before, before + 100)
        old, new = row(*key, before), row(*key, before + 100)
        known = read_identity(self.paths)
        self.made.stage(repair, [(old, new)])
        repairs.put(
            self.paths.root,
            [
                {
                    "pipeline": SPEC.name,
                    "repair_id": repair,
                    "generation": known.generation,
                    "state": "staged",
                    "kind": "repair",
                    "horizon": json.dumps({0: key.hour + 1}),
                }
            ],
        )
        return deed

    def swap(self, repair: str) -> None:
        swap(SPEC, self.settings.root, repair, f"swap of {repair}")

    def undo(self, repair: str) -> None:
        undo(SPEC, self.settings.root, repair, f"undo of {repair}")

    def rewind(self, batch: int) -> None:
        rewind(SPEC, self.settings, batch).execute()  # type: ignore[misc]

    def reset(self) -> None:
        self.resets += 1
        reset(SPEC, self.settings).execute()  # type: ignore[misc]

    def accept(self) -> None:
        self.accepted += 1
        accept(SPEC, self.settings, (f"{CHECK}(n)",), "looked right", "ana").execute()  # type: ignore[misc]

    def publish(self) -> None:
        """The task: it looks at Airflow's newest event, tells, and Airflow emits behind its end."""
        newest = max(self.airflow, key=lambda each: each.number, default=None)
        told = (newest.number, newest.generation, newest.table_version) if newest else ()
        event = publish(self.paths, SPEC, Announced(*told))
        if event is None:
            return
        _arrive("airflow emits")
        self.airflow.append(event)
        shown = self.published()
        for day in event.days:
            self.by_day[day] = _of_day(shown, day)

    def restored(self, to: int) -> None:
        """A person's RESTORE of the table, by mistake or because an error says so."""
        if not deltalake.DeltaTable.is_deltatable(str(self.paths.table)):
            return  # a reset beside it has moved it
        deltalake.DeltaTable(str(self.paths.table)).restore(to)

    def delete_bad(self) -> None:
        """A person does what the error says: the bad rows go."""
        if not deltalake.DeltaTable.is_deltatable(str(self.paths.table)):
            return
        deltalake.DeltaTable(str(self.paths.table)).delete(f"sales = {BAD_SALES}")


def _of_day(rows: Rows, day: date) -> Rows:
    """Windows whose last moment is on that day."""
    return {
        key: sales
        for key, sales in rows.items()
        if (hour(key.hour) - timedelta(microseconds=1)).date() == day
    }


Command = Callable[[], Any]
__all__ = ["SHOPS", "Batch", "Deed", "Delete", "Key", "Undo", "World"]
