"""A root whose table follows a key, as drains leave it without Spark and Kafka: its merge, account,
journal and commands are the product's. What Spark does before the merge is here in plain Python.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import version as installed
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pytest
from pyspark.sql.types import StructType
from upath import UPath

from spark_jobs.audit.keyed_account import keyed
from spark_jobs.audit.written import written
from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.journal.runner import leased, settle
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops import ops_tables
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.runs.preflight import refuse_restored
from spark_jobs.sink.keyed.follow import merge_here
from spark_jobs.spec import Field, History, Latest, Pipeline, Topic
from spark_jobs.spec.steps.history import SPAN
from spark_jobs.storage import failpoint
from spark_jobs.storage.lease_view import Held
from spark_jobs.storage.root.path_forms import SparkPath
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table import history
from spark_jobs.table.delta import compaction, door
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit, Note
from spark_jobs.values.own_columns import CONTENTS, DELETED, DELETED_AT, OFFSET, PARTITION
from tests.harness.roots import Root
from tests.unit.checkpoints import begin, commit_batch, plan_batch

START = datetime(2026, 1, 1, tzinfo=UTC)
TOPIC = Topic(
    name="changes",
    event_time="made",
    fields=(
        Field(name="id", type="string"),
        Field(name="shop", type="bigint"),
        Field(name="lsn", type="bigint"),
        Field(name="made", type="timestamp"),
        Field(name="status", type="string", required=False),
    ),
)
_OF: dict[str, Any] = {"keys": ("id", "shop"), "order_by": ("lsn",)}
LATEST = Latest(**_OF, deletes="status IS NULL")
HISTORY = History(**_OF, deletes="status IS NULL", valid_from="made")
TIME = pa.timestamp("us", "UTC")
CHANGES = pa.schema(
    [
        ("id", pa.string()),
        ("shop", pa.int64()),
        ("lsn", pa.int64()),
        ("made", TIME),
        ("status", pa.string()),
        (DELETED_AT, TIME),
        (PARTITION, pa.int32()),
        (OFFSET, pa.int64()),
        (CONTENTS, pa.int64()),
        (DELETED, pa.bool_()),
    ]
)
CHAINS = pa.schema([*CHANGES, *zip(SPAN, (TIME, TIME, pa.bool_()), strict=True)])
VERSIONS = f"""
WITH places AS (
    SELECT * FROM given QUALIFY row_number() OVER (
        PARTITION BY id, shop, lsn ORDER BY {OFFSET} DESC, {PARTITION} DESC) = 1),
begun AS (
    SELECT *, max(made) OVER (PARTITION BY id, shop ORDER BY lsn) AS valid_from FROM places)
SELECT *, lead(valid_from) OVER chain AS valid_to,
       lead(lsn) OVER chain IS NULL AND NOT {DELETED} AS current
FROM begun WINDOW chain AS (PARTITION BY id, shop ORDER BY lsn)
ORDER BY id, shop, lsn
"""
"""The whole history, by DuckDB, from all changes at once."""
SPARKS = {pa.string(): "string", pa.int64(): "long", pa.int32(): "integer", TIME: "timestamp"}


class Record(NamedTuple):
    """A change as the source makes it. Its clock may go back."""

    id: str
    shop: int
    lsn: int
    minute: int
    status: str | None
    """Null in a delete."""


class Change(NamedTuple):
    """A record at its place, in a batch of this clock."""

    record: Record
    partition: int
    offset: int
    clock: datetime

    @property
    def key(self) -> tuple[str, int]:
        return self.record[:2]

    @property
    def position(self) -> tuple[int, int, int]:
        return self.record.lsn, self.offset, self.partition

    def is_copy_of(self, other: "Change") -> bool:
        """Equal in key, order and contents."""
        mine, theirs = ((*c.key, c.record.lsn, self._contents(c)) for c in (self, other))
        return mine == theirs

    @staticmethod
    def _contents(change: "Change") -> tuple[int, str] | None:
        made, status = change.record[3:]
        return None if status is None else (made, status)

    def row(self, *, timed: bool) -> dict[str, Any]:
        """As the query gives it to the sink. `timed`: whether a delete has its time too."""
        dead = self.record.status is None
        made = START + timedelta(minutes=self.record.minute)
        return {
            **self.record._asdict(),
            "made": made if timed or not dead else None,
            DELETED_AT: self.clock if dead else None,
            PARTITION: self.partition,
            OFFSET: self.offset,
            CONTENTS: zlib.crc32(repr(self.record[3:]).encode()) if timed or not dead else 0,
            DELETED: dead,
        }


class Killed(BaseException):
    """What a kill is to a test: nothing of the product handles it."""


@contextmanager
def killed(at: int | None) -> Iterator[None]:
    """Kills what is within, at this one of the failpoints that it passes; not with None."""
    places = count()

    def pass_by(name: str) -> None:
        assert name in failpoint.EVERY
        if next(places) == at:
            raise Killed

    with pytest.MonkeyPatch.context() as active:
        active.setattr(failpoint, "at", pass_by)
        with suppress(Killed):
            yield


class Followed(Root):
    """The topic has two partitions. `seen` are the changes that the table is made of."""

    def __init__(self, folder: Path, step: Latest | History) -> None:
        spec = Pipeline(name="orders", about="Orders.", topic=TOPIC, steps=(step,))
        super().__init__(folder, spec)
        self.step = step
        self.topic: list[list[Record]] = [[], []]
        self.seen: tuple[Change, ...] = ()
        self.after: dict[int, tuple[Change, ...]] = {}
        """Batch -> what was seen with it."""
        self.judged: list[tuple[Change, ...]] = [()]
        """What was seen at each verdict."""
        self.clock = datetime.now(UTC)

    def send(self, records: Iterable[tuple[Record, int]]) -> None:
        for record, partition in records:
            self.topic[partition].append(record)

    def send_again(self, first: float, number: int) -> None:
        """As a connector does that was killed: some records of before, in their order."""
        for partition in self.topic:
            at = round(first * len(partition))
            partition.extend(partition[at : at + number])

    def snapshot(self, lsn: int | None) -> None:
        """The rows that the source has, at one place in its log or where they were changed."""
        sent = [record for partition in self.topic for record in partition]
        newest = {record[:2]: record for record in sorted(sent, key=lambda each: each.lsn)}
        rows = (record for record in newest.values() if record.status is not None)
        moved = (row if lsn is None else row._replace(lsn=lsn) for row in rows)
        self.send([(record, 0) for record in moved])

    @property
    def of(self) -> tuple[str, Pipeline]:
        """What paths are made of."""
        return self.settings.root, self.spec

    def now(self) -> Paths:
        """The paths of the place that is live, with nothing begun."""
        settle(Paths(*self.of), "a command")
        self.paths = Paths(*self.of)
        return self.paths

    def read(self) -> tuple[tuple[int, int], ...]:
        """The places of the records that the checkpoint's batches have read."""
        checkpoint = Checkpoint(self.paths.checkpoint)
        batches = map(checkpoint.batch, checkpoint.committed())
        ends = (each.end.by_partition for each in batches)
        end = max(ends, key=lambda end: sum(end.values()), default={})
        return tuple((p, at) for p, last in end.items() for at in range(last))

    def rewound(self, batch: int) -> None:
        """The table is made of what it was made of behind this batch."""
        self.seen = self.after[batch]
        self.after = {each: seen for each, seen in self.after.items() if each <= batch}

    def was_reset(self) -> None:
        """Of nothing."""
        self.seen, self.after = (), {}

    def forget(self, before: datetime) -> None:
        """As if there had been no change of a key that was deleted before that time."""
        newest = {each.key: each for each in sorted(self.seen, key=lambda each: each.position)}
        gone = {k for k, c in newest.items() if c.record.status is None and c.clock < before}
        self.seen = tuple(each for each in self.seen if each.key not in gone)

    def drain(self, shares: Iterable[float], meanwhile: str = "") -> None:
        """A batch for each of these shares of what is unread, behind those that were left.
        `meanwhile`: who else writes between the first read of the table and its commit.
        """
        paths = self.now()
        paths.ensure_writable()
        with leased(paths, "drain") as held:
            self._claim(held)
            checkpoint, cursor = Checkpoint(paths.checkpoint), self.cursor
            self._catch_up(held)
            for batch in sorted({*checkpoint.planned()} - {*checkpoint.committed()}):
                self._batch(batch, held, meanwhile)
            for share in shares:
                batch = max(checkpoint.planned(), default=-1) + 1
                if self._plan(batch, share):
                    self._batch(batch, held, meanwhile)
                    meanwhile = ""
            failpoint.at("checks")
            refuse_restored(paths, cursor.judged_table_version)
            self._judge(cursor, held)
            failpoint.at("judged")

    def _claim(self, held: Held) -> None:
        """A checkpoint and a table of one generation."""
        paths, spec = self.paths, self.spec
        if read_identity(paths) is None:
            self.identified(uuid4().hex[:12], fingerprint=fingerprint(spec, installed("pyspark")))
            begin(paths.checkpoint, {0: 0, 1: 0}, TOPIC.name)
        generation = self.identity.generation
        found = Delta(paths.table).ensure(self._columns(), spec, generation, (), held)
        if not self.identity.table_id:
            named = {"table_id": Delta(paths.table).identifier()}
            self.identity.model_copy(update=named).put(paths.identity, held)
        if self.cursor.judged_table_version is None:
            Cursor(judged_table_version=found).put(paths.cursor, held)

    def _columns(self) -> StructType:
        names = CHAINS if isinstance(self.step, History) else CHANGES
        kinds = [(each.name, SPARKS.get(each.type, "boolean")) for each in names]
        fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in kinds]
        return StructType.fromJson({"type": "struct", "fields": fields})

    def _plan(self, batch: int, share: float) -> bool:
        """False if it would read nothing."""
        checkpoint = Checkpoint(self.paths.checkpoint)
        start = checkpoint.batch(batch - 1).end.by_partition if batch else {0: 0, 1: 0}
        end = {p: at + round((len(self.topic[p]) - at) * share) for p, at in start.items()}
        if end == start:
            return False
        clock = int(self.clock.timestamp() * 1000)
        plan_batch(self.paths.checkpoint, batch, end, topic=TOPIC.name, clock_ms=clock)
        return True

    def _changes(self, batch: int) -> tuple[Change, ...]:
        of = Checkpoint(self.paths.checkpoint).batch(batch)
        clock = datetime.fromtimestamp(of.clock_ms / 1000, UTC)
        return tuple(
            Change(self.topic[p][at], p, at, clock)
            for p, [(first, stop)] in of.parts.items()
            for at in range(first, stop)
        )

    def _batch(self, batch: int, held: Held, meanwhile: str) -> None:
        failpoint.at("planned")
        paths, owner = self.paths, self.identity.owner(self.spec.name)
        if Delta(paths.table).newest_batch(owner) < batch:
            others = iter([meanwhile])

            def confirm() -> None:
                held.confirm()
                match next(others, ""):
                    case "kill":
                        raise Killed
                    case "optimize":
                        compaction.compact(paths.table)
                    case "another of this batch":
                        self._merge(batch, owner, lambda: None)

            self._merge(batch, owner, confirm)
            self.seen = self.after[batch] = (*self.seen, *self._dated(self._changes(batch)))
        failpoint.at("table.committed")
        commit_batch(paths.checkpoint, batch)
        self._catch_up(held)

    def _dated(self, changes: Iterable[Change]) -> Iterator[Change]:
        """A copy of what the table has brings its place alone, and no clock."""
        newest = {each.key: each for each in sorted(self.seen, key=lambda each: each.position)}
        for change in changes:
            last = newest.get(change.key)
            copied = last is not None and change.is_copy_of(last)
            yield change._replace(clock=last.clock) if last and copied else change

    def _merge(self, batch: int, owner: str, confirm: Callable[[], None]) -> None:
        note: Note = {"sluice": owner, "batch": batch, "run": "run"}
        changes, path = self._changes(batch), self.paths.table
        to = Commit(SparkPath(str(path)), owner, batch, note, path, len(changes), confirm)
        merge_here(table_of(changes, self.step), self.step, to)

    def _catch_up(self, held: Held) -> None:
        for batch in Checkpoint(self.paths.checkpoint).committed_after(self.cursor.audited):
            failpoint.at("audit")
            self._account(batch, held)

    def _account(self, batch: int, held: Held) -> None:
        """By the product's sources, which must agree."""
        paths, known = self.paths, self.identity
        done = written(Delta(paths.table), known.owners(self.spec.name), batch).get(batch)
        read = len(self._changes(batch))
        found = keyed(paths.table, done, self.step)
        account = found.told(Account(covered=read, read=read, accepted=read))
        assert (found.fates.all, account.unaccounted) == (read, 0)
        where = {"pipeline": self.spec.name, "generation": known.generation, "batch_id": batch}
        row = where | account.row() | {"run_id": "run", "audited_at": datetime.now(UTC)}
        row |= {"table_version": done.version if done else None}
        row |= {"offsets_end": Checkpoint(paths.checkpoint).batch(batch).end.json}
        ops_tables.replace(paths.root, "batches", [row], ops_tables.equals(where), held)
        failpoint.at("audited")
        self.cursor.model_copy(update={"audited": batch}).put(paths.cursor, held)

    def _judge(self, last: Cursor, held: Held) -> None:
        """All since the last verdict is good. The version stays where only files were joined."""
        paths, cursor, known = self.paths, self.cursor, self.identity
        before, now = last.judged_table_version, Delta(paths.table).version()
        if before is not None and not history.rows_changed(Delta(paths.table), before, now):
            now = before
        passed: dict[str, Any] = {"judged": cursor.audited, "judged_table_version": now}
        passed |= {"judged_generation": known.generation}
        cursor.model_copy(update=passed).put(paths.cursor, held)
        self.judged.append(self.seen)
        of_run: dict[str, Any] = {"generation": known.generation, "table_version": now}
        of_run |= {"table_version_before": before}
        of_run |= {"batches": tuple(range(last.judged + 1, cursor.audited + 1))}
        self.ended(uuid4().hex, at=datetime.now(UTC), **of_run)

    def rows(self, path: UPath) -> list[dict[str, Any]]:
        """Of a table, in the order of their places; none without one."""
        if not door.is_table(path):
            return []
        found = door.open_table(path).to_pyarrow_table()
        wanted = [name for name in CHAINS.names if name in found.column_names]
        rows: list[dict[str, Any]] = found.select(wanted).to_pylist()
        return sorted(rows, key=lambda row: tuple(row[name] for name in ("id", "shop", "lsn")))


def table_of(changes: Iterable[Change], step: Latest | History) -> pa.Table:
    """As the query gives them, in any order."""
    timed = isinstance(step, History)
    rows = [change.row(timed=timed) for change in reversed([*changes])]
    return pa.Table.from_pylist(rows, CHANGES)
