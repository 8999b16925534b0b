"""World: one root with real Delta logs, the commands of the product over it, and who listens.

Only Spark and Kafka are stood in for: `drain` writes what a real one writes, in its order.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import deltalake
from deltalake.exceptions import CommitFailedError

from spark_jobs.admin.accept import accept
from spark_jobs.admin.doctor import doctor
from spark_jobs.admin.maintain import maintain
from spark_jobs.admin.reset import reset
from spark_jobs.admin.rewind import rewind
from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.lease import HeldLease, holder, lease
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.errors import TableContended
from spark_jobs.fingerprint.environment import environment
from spark_jobs.fingerprint.fields import fingerprint
from spark_jobs.journal.begun import refuse_under_way
from spark_jobs.journal.runner import leased
from spark_jobs.messages.event import Event
from spark_jobs.messages.report import Account, CheckResult, Problem, Report
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.exchange.swap import swap
from spark_jobs.repair.exchange.undo import undo
from spark_jobs.runs.publish.due import Announced
from spark_jobs.runs.publish.publication import publish
from spark_jobs.runs.run_record import append_row
from spark_jobs.sink import table
from spark_jobs.sink.restored import refuse_restored
from spark_jobs.storage import delta
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.object_store import require_writable
from tests.simulation.bucket import FOLDER
from tests.simulation.log import is_table, records
from tests.simulation.model import BAD_SALES, SHOPS, Batch, Key, Model, Rows, Swap
from tests.simulation.places import arrived
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.repaired import DAY, SPEC, STRUCT, Root, hour, row

CHECK = "expect_x"
COLUMNS: Any = SimpleNamespace(json=lambda: json.dumps(STRUCT), jsonValue=lambda: STRUCT)
EVENING = 20
"""The hour of the first batch: a day is final some batches later."""
FIRST = 5
"""The last of the batches that a root has at the beginning."""
NEWER = 99
"""A form that this version does not know."""
_MADE: list[TemporaryDirectory[str]] = []
"""A root with its first batches, made once and copied."""


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

    def __init__(self, folder: Path, bad: frozenset[int], *, remote: bool) -> None:
        """`folder` is below FOLDER. `remote`: the product finds it in an object store."""
        self.folder, self.remote = folder, remote
        self.made = Root(f"s3://{folder.relative_to(FOLDER)}" if remote else folder)
        self.paths, self.settings = self.made.paths, self.made.settings
        self.model = Model(bad)
        self.airflow: list[Event] = []
        """The events that consumers had, in their order."""
        self.by_day: dict[date, Rows] = {}
        """What a consumer has of each day that it was told of."""
        self.touched: set[Key] = set()
        """Rows that a person has deleted: no consumer is told."""
        self.failed_passed = False
        """Whether the cursor has ever said that a row passed which failed its check."""
        self.older_note = ""
        """The note of a change, as this version wrote it, while there is one of a newer version."""
        self.restores = 0
        """How often a person has restored the table."""
        self.resets = 0
        """How often a person began to start again."""
        self.accepted: set[Key] = set()
        """Rows that failed, and that a person began to accept."""

    @classmethod
    def begun(cls, folder: Path, bad: frozenset[int], *, remote: bool) -> World:
        """One with its first batches, all of which are good."""
        if not _MADE:
            made = TemporaryDirectory(prefix="sluice-simulated-", dir=FOLDER)
            first = cls(Path(made.name), frozenset(), remote=False)
            for _ in range(FIRST + 1):
                first.drain()
            _MADE.append(made)
        shutil.copytree(_MADE[0].name, folder)
        world = cls(folder, bad, remote=remote)
        world.model = world.model.done(Batch(n) for n in range(FIRST + 1))
        return world

    # What is there

    def rows(self, at: int | None = None) -> Rows:
        """The rows of the table, now or at a version."""
        return self._read(self.folder / "tables" / SPEC.name, at)

    def published(self) -> Rows:
        """What consumers read; nothing before the first publish."""
        return self._read(self.folder / "published" / SPEC.name)

    def _read(self, folder: Path, at: int | None = None) -> Rows:
        rows: Rows = {}
        for each in records(folder, at):
            number = int((each["windowEnd"] - hour(EVENING)) / timedelta(hours=1))
            key = Key(number, each["shop"])
            assert key not in rows, f"two rows of {key}"
            rows[key] = each["sales"]
        return rows

    @property
    def has_table(self) -> bool:
        return is_table(self.folder / "tables" / SPEC.name)

    @property
    def under_way(self) -> bool:
        """Whether a change has begun and not ended: whoever takes the lease next completes it."""
        return bool(self.paths.journal.exists())

    def cursor(self) -> Cursor:
        return read_cursor(self.paths.cursor)

    @contextmanager
    def remembered(self) -> Iterator[None]:
        """Within the block it sees what the cursor says."""
        write = Cursor.write

        def seen(cursor: Cursor, path: Any) -> None:
            passed = self.rows(cursor.judged_table_version)
            self.failed_passed |= BAD_SALES in passed.values()
            write(cursor, path)

        with patch.object(Cursor, "write", seen):
            yield

    # Commands

    def drain(self) -> int:
        """Complete what an earlier drain left, then one batch; judge; its number."""
        require_writable(self.paths)
        with leased(SPEC, self.paths, "drain") as held:
            require_writable(self.paths)
            known = self._identity(held)
            cursor = self.cursor()
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
            known = identity(uuid.uuid4().hex[:8])
            known.write(self.paths.identity)
        if not self.paths.cursor.exists():
            Cursor(judged_table_version=0).write(self.paths.cursor)
        folder = self.paths.checkpoint
        if not (folder / "sources" / "0" / "0").exists():
            remove_folder(folder)  # Spark begins again what was killed in between
            begin(folder, {0: 0}, "sales")
        if not known.table_id:
            table.ensure(self.paths.table, COLUMNS, SPEC, known.generation)
            known = known.model_copy(update={"table_id": table.identifier(self.paths.table)})
            known.write(self.paths.identity)
        return known

    def _batch(self, batch: int, known: Identity, held: HeldLease) -> None:
        folder = self.paths.checkpoint
        if batch not in Checkpoint(folder).planned():
            held.confirm()
            plan_batch(folder, batch, {0: batch + 1}, topic="sales")
        owner = known.owner(SPEC.name)
        if table.newest_batch(self.paths.table, owner) < batch:
            rows = [_row(Key(batch, shop), self.model.sales(batch, shop)) for shop in SHOPS]
            said = {"userMetadata": json.dumps({"sluice": owner, "batch": batch})}
            held.confirm()
            self.made.append(rows, said, [deltalake.Transaction(owner, batch)])
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
        cursor, judged = self.cursor(), table.version(self.paths.table)
        refuse_restored(self.paths, cursor.judged_table_version)
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
        held.confirm()
        self.cursor().model_copy(update=changes).write(self.paths.cursor)

    def stage(self, repair: str, key: Key, made: list[Swap]) -> None:
        """What a stage leaves for another number in one row, if there is such a row."""
        with lease(self.paths.staging_lease, f"stage of {repair}"):
            refuse_under_way(self.paths)
            known = read_identity(self.paths)
            before = self.rows().get(key) if self.has_table and known else None
            if before in {None, BAD_SALES}:
                return
            assert before is not None
            old, new = _row(key, before), _row(key, before + 100)
            deed = Swap(repair, key, before, before + 100)
            self.made.stage(repair, [(old, new)])
            told = {
                "pipeline": SPEC.name,
                "repair_id": repair,
                "generation": known.generation if known else "",
                "state": "staged",
                "kind": "repair",
                "horizon": json.dumps({0: key.batch + 1}),
            }
            repairs.put(self.paths.root, [told])
        made.append(deed)

    def swap(self, repair: str) -> None:
        swap(SPEC, self.settings.root, repair, f"swap of {repair}")

    def undo(self, repair: str) -> None:
        undo(SPEC, self.settings.root, repair, f"undo of {repair}")

    def rewind(self, batch: int) -> None:
        _done(rewind(SPEC, self.settings, batch))

    def reset(self) -> None:
        self.resets += 1
        _done(reset(SPEC, self.settings))

    def doctor(self) -> None:
        _done(doctor(SPEC, self.settings))

    def maintain(self) -> None:
        _done(maintain(SPEC, self.settings))

    def accept(self) -> None:
        self.accepted |= {key for key, sales in self.rows().items() if sales == BAD_SALES}
        _done(accept(SPEC, self.settings, (f"{CHECK}(n)",), "looked right", "ana"))

    def publish(self) -> None:
        """The task: it looks at Airflow's newest event, tells, and Airflow emits behind its end."""
        newest = max(self.airflow, key=lambda each: each.number, default=None)
        told = (newest.number, newest.generation, newest.table_version) if newest else ()
        event = publish(self.paths, SPEC, Announced(*told))
        if event is None:
            return
        arrived("airflow emits")
        self.airflow.append(event)
        shown = self.published()
        for day in event.days:
            self.by_day[day] = of_day(shown, day)

    # What a person does without Sluice

    def newer(self) -> None:
        """A newer Sluice was killed amid a change, and this one is back."""
        with lease(self.paths.lease, "a newer Sluice"):
            if self.under_way and not self.older_note:
                self.older_note = self.paths.journal.read_text()
                note = json.loads(self.older_note) | {"format_version": NEWER}
                self.paths.journal.write_text(json.dumps(note))

    def older(self) -> None:
        """The version that began the change completes it, if its note is there."""
        if self.older_note and self.under_way:
            note = json.loads(self.paths.journal.read_text())
            if note["format_version"] == NEWER:
                self.paths.journal.write_text(self.older_note)
        self.older_note = ""

    def restored(self, to: int) -> None:
        """RESTORE, by mistake."""
        self.restores += 1
        self._of_person(lambda found: found.restore(to))

    def delete_bad(self) -> None:
        """What the error says: the bad rows go."""
        self._of_person(lambda found: found.delete(f"sales = {BAD_SALES}"))

    def delete(self, key: Key) -> None:
        self.touched.add(key)
        end = hour(EVENING + key.batch)
        self._of_person(
            lambda found: found.delete(
                f"shop = '{key.shop}' AND `windowEnd` = "
                f"arrow_cast('{end:%Y-%m-%dT%H:%M:%SZ}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
            )
        )

    def optimize(self) -> None:
        self._of_person(lambda found: found.optimize.compact())

    def vacuum(self) -> None:
        """Of all that the newest version does not have, where nobody works or reads older ones."""
        if not holder(self.paths.lease) and self.published() == self.rows():
            self._of_person(
                lambda found: found.vacuum(
                    0, dry_run=False, enforce_retention_duration=False, full=True
                )
            )

    def _of_person(self, act: Any) -> None:
        if not self.has_table:
            return  # a reset beside it has moved it
        try:
            act(delta.open_table(self.paths.table))
        except CommitFailedError as error:  # Delta refuses the second of two
            raise TableContended(str(error)) from None


def _row(key: Key, sales: int) -> dict[str, Any]:
    return row(EVENING + key.batch, key.shop, sales)


def _done(intent: Any) -> None:
    if intent.execute:
        intent.execute()


def of_day(rows: Rows, day: date) -> Rows:
    """Windows whose last moment is on that day."""
    return {
        key: sales
        for key, sales in rows.items()
        if (hour(EVENING + key.batch) - timedelta(microseconds=1)).date() == day
    }
