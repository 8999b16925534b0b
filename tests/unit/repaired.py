"""A root with drained batches and staged repairs, without Spark, as product and stage leave it."""

import json
import shutil
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import deltalake
import pyarrow as pa
from pyspark.sql.types import StructType

from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.registry.fingerprint.environment import environment
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.repair.manifest import Manifest, MergedRecord
from spark_jobs.repair.swap import Swapped, swap
from spark_jobs.repair.undo import undo
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.table import Delta
from spark_jobs.values.spans import Position, Span
from tests.harness import roots
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import pipeline

SPEC = pipeline()
DAY = datetime(2026, 3, 1, tzinfo=UTC)
FIELDS = (
    ("windowEnd", "timestamp", False),
    ("shop", "string", True),
    ("sales", "long", False),
    ("mean", "double", True),
    ("ids", {"type": "array", "elementType": "string", "containsNull": True}, True),
)
STRUCT = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": nullable, "metadata": {}}
        for name, kind, nullable in FIELDS
    ],
}
NULLABLE = pa.schema(
    [
        ("windowEnd", pa.timestamp("us", "UTC")),
        ("shop", pa.string()),
        ("sales", pa.int64()),
        ("mean", pa.float64()),
        ("ids", pa.list_(pa.string())),
    ]
)
"""As Spark writes the staged rows: every column may be null."""
POSITION = Position("windowEnd", "end")
SHOPS = ("a", "b", "c")
FINAL = 6
"""Hours of which all rows are final, where ten are drained."""
Row = dict[str, Any]
R = TypeVar("R", bound="Root")
Changes = list[tuple[Row | None, Row | None]]
"""The row before and the row after, of each change."""


def hour(number: int) -> datetime:
    """The end of the window of that hour."""
    return DAY + timedelta(hours=number + 1)


def hours(first: int, last: int | None = None) -> Span:
    """The span of these windows."""
    return Span(DAY + timedelta(hours=first), hour(first if last is None else last))


def row(number: int, shop: str, sales: int = 1) -> Row:
    """The row of a window and a shop. One mean is no number, and one is null."""
    mean = {"a": sales / 3, "b": float("nan"), "c": None}.get(shop, 0.1)
    return {"windowEnd": hour(number), "shop": shop, "sales": sales, "mean": mean, "ids": [shop]}


_MADE: dict[tuple[int, bool], TemporaryDirectory[str]] = {}
"""Roots after their first batches, by the last one and whether they are hourly."""


class Root(roots.Root):
    """Batch n reads the record with offset n, and writes the windows of hour n."""

    def __init__(self, folder: Path | str, *, hourly: bool = False, paths: Paths | None = None):
        """`hourly`: batch n's watermark is the beginning of hour n. `paths`: of a root there is."""
        super().__init__(folder, SPEC, paths)
        self.hourly = hourly
        self.folder = self.paths.checkpoint
        if not paths:
            shutil.copytree(_begun().name, folder, dirs_exist_ok=True)

    def begin(self) -> None:
        """As a first run leaves it before it has read a record."""
        self.paths.ensure_writable()
        begin(self.folder, {0: 0}, "sales")
        columns = StructType.fromJson(STRUCT)
        Delta(self.paths.table).ensure(columns, SPEC, "g1")
        self.identified(
            "g1",
            table_id=Delta(self.paths.table).identifier(),
            fingerprint=fingerprint(SPEC, version("pyspark")),
            environment=environment(SPEC),
        )
        Cursor(judged_table_version=0).write(self.paths.cursor)

    def rows(self, version: int | None = None) -> list[str]:
        """The table's rows, as text and in order."""
        return self.rows_of(self.paths.table, version)

    def rows_of(self, path: Any, version: int | None = None) -> list[str]:
        """Those of another table."""
        read = deltalake.DeltaTable(str(path), version=version)
        found = deltalake.QueryBuilder().register("t", read).execute("SELECT * FROM t")
        return texts(pa.table(found.read_all()).cast(NULLABLE).to_pylist())

    def feed(self, version: int) -> list[tuple[str, str]]:
        """What the change feed says of a version: the type and the row of each change."""
        feed = pa.table(
            self.table.load_cdf(starting_version=version, ending_version=version).read_all()
        ).to_pylist()
        return sorted(
            (each["_change_type"], texts([{name: each[name] for name in NULLABLE.names}])[0])
            for each in feed
        )

    def drain(self, first: int, last: int, *, red: bool = False):
        """Drain these batches, which do not pass if `red`; first ones are made once."""
        if first == 0 and last > 0 and not red and self.version == 0:
            made = _first_batches(last, self.hourly)
            shutil.copytree(made, self.settings.root, dirs_exist_ok=True)
            return
        table = self.table  # opened once: each batch makes its log longer to read
        accounts = []
        for batch in range(first, last + 1):
            self.commit(batch, table)
            accounts.append(self._accounted(batch, table.version()))
        self._put_accounts(accounts)
        if not red:
            self.moved(judged=last, judged_table_version=table.version())
            self._passed(first, last, table.version())

    def _passed(self, first: int, last: int, version: int):
        """The row of a run in ops.runs, which judged these batches well."""
        of_run = {"generation": self.identity.generation, "table_version": version}
        batches = tuple(range(first, last + 1))
        self.ended(f"{first} to {last}", at=datetime.now(UTC), batches=batches, **of_run)

    def commit(
        self, batch: int, table: deltalake.DeltaTable | None = None, rows: list[Row] | None = None
    ):
        """`rows`: in the place of one for each shop."""
        plan_batch(self.folder, batch, {0: batch + 1}, topic="sales")
        store = self.folder / "state" / "0" / "0"
        store.mkdir(parents=True, exist_ok=True)
        (store / f"{batch + 1}.snapshot").write_bytes(b"state")
        owner = self.identity.owner(SPEC.name)
        self.append(
            rows or [row(batch, shop) for shop in SHOPS],
            {"userMetadata": json.dumps({"sluice": owner, "batch": batch})},
            [deltalake.Transaction(owner, batch)],
            table,
        )
        commit_batch(self.folder, batch)

    def account(self, batch: int, watermark: datetime | None = None):
        self._put_accounts([self._accounted(batch, self.version, watermark)])

    def _put_accounts(self, rows: list[Row]):
        self.put("batches", *rows)
        newest = rows[-1]
        self.moved(audited=newest["batch_id"], table_version=newest["table_version"])

    def _accounted(self, batch: int, version: int, watermark: datetime | None = None) -> Row:
        counts = Account(covered=1, read=1, accepted=1, rows_out=1).row()
        found: Row = {"pipeline": SPEC.name, "generation": self.identity.generation}
        found |= {"batch_id": batch, "run_id": f"run-{batch}", "offsets_start": "{}"}
        found |= {"offsets_end": json.dumps({0: batch + 1}), "audited_at": datetime.now(UTC)}
        if watermark or self.hourly:
            found |= {"watermark": watermark or DAY + timedelta(hours=batch)}
        return found | counts | {"table_version": version}

    def account_at(self, batch: int, watermark: datetime):
        """A batch that has passed, with this watermark."""
        self.commit(batch)
        self.account(batch, watermark)
        self.moved(judged=batch, judged_table_version=self.version)

    def append(
        self,
        rows: list[Row],
        said: dict[str, str] | None = None,
        transactions: list[deltalake.Transaction] | None = None,
        table: deltalake.DeltaTable | None = None,
    ):
        """Rows of a batch, or of somebody else. `table` is the newest version, if it is open."""
        table = table or self.table
        deltalake.write_deltalake(
            table,
            pa.Table.from_pylist(rows, NULLABLE).cast(pa.schema(table.schema().to_arrow())),
            mode="append",
            commit_properties=deltalake.CommitProperties(
                custom_metadata=said, app_transactions=transactions
            ),
        )

    def stage(
        self, repair_id: str, changes: Changes, spans: tuple[Span, ...] | None = None, **more: Any
    ) -> Manifest:
        """What the stage leaves for these changes; `spans` if more was computed than differs."""
        touched = [each for change in changes for each in change if each]
        differing = tuple(
            sorted(
                {
                    Span(each["windowEnd"] - timedelta(hours=1), each["windowEnd"])
                    for each in touched
                }
            )
        )
        of_this = {"repair_id": repair_id, "attempt": uuid.uuid4().hex}
        of_this |= {"generation": self.identity.generation}
        of_this |= {"table_id": Delta(self.paths.table).identifier(), "table_version": self.version}
        of_this |= {"spans": spans or differing, "differing": differing, "position": POSITION}
        of_this |= {
            "added": sum(not before for before, _ in changes),
            "removed": sum(not after for _, after in changes),
            "changed": sum(bool(before and after) for before, after in changes),
            "merged": (late(7, hour(0)),),
        }
        made = roots.manifest(SPEC.name, **of_this | more)
        folder = self.paths.staging(repair_id)
        after = self._within(made.spans, made.table_version)
        for gone in (before for before, _ in changes if before):
            after.remove(next(each for each in after if texts([each]) == texts([gone])))
        after += [new for _, new in changes if new]
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / "rows", pa.Table.from_pylist(after, NULLABLE))
        struct = pa.struct(list(NULLABLE))
        written = {
            "op": [
                "added" if not before else "removed" if not new else "changed"
                for before, new in changes
            ],
            "before": [before for before, _ in changes],
            "after": [new for _, new in changes],
            "explained": [False for _ in changes],
        }
        schema = pa.schema(
            {"op": pa.string(), "before": struct, "after": struct, "explained": pa.bool_()}
        )
        write(folder / "changes", pa.table(written, schema))
        made.write(folder / "manifest.json")
        return made

    def _within(self, spans: tuple[Span, ...], version: int | None = None) -> list[Row]:
        sql = f"SELECT * FROM t WHERE {POSITION.sql(spans)}"
        table = deltalake.DeltaTable(str(self.paths.table), version=version)
        found = deltalake.QueryBuilder().register("t", table).execute(sql)
        rows: list[Row] = pa.table(found.read_all()).cast(NULLABLE).to_pylist()
        return rows

    def swap(self, repair_id: str) -> Swapped:
        return swap(SPEC, self.settings.root, repair_id, f"swap of {repair_id}")

    def undo(self, repair_id: str) -> Swapped:
        return undo(SPEC, self.settings.root, repair_id, f"undo of {repair_id}")

    def states(self) -> dict[str, str]:
        """Repair -> its state. Each has one row."""
        rows = repairs.stored(self.paths.root, SPEC.name)
        assert len({each["repair_id"] for each in rows}) == len(rows)
        return {each["repair_id"]: each["state"] for each in rows}

    def merged(self) -> list[tuple[str, int]]:
        """Repair and offset of each row of ops.merged."""
        found = self.told("merged", 'repair_id, "offset"')
        return sorted((each["repair_id"], each["offset"]) for each in found)


def again(make: Callable[[Path], R], folder: Path) -> R:
    """The root that `make` leaves in a folder: it is made once, and copied."""
    made, at = _made_once(make)
    shutil.copytree(at.name, folder)
    return type(made)(folder, paths=Paths(str(folder), SPEC))


@cache
def _begun() -> TemporaryDirectory[str]:
    folder = TemporaryDirectory(prefix="sluice-begun-")
    Root(folder.name, paths=Paths(folder.name, SPEC)).begin()
    return folder


@cache
def _made_once(make: Callable[[Path], Root]) -> tuple[Root, TemporaryDirectory[str]]:
    folder = TemporaryDirectory(prefix="sluice-root-")
    return make(Path(folder.name)), folder


def _first_batches(last: int, hourly: bool) -> str:
    """The folder of a root that has them. It is made of the one that has most of them."""
    if (last, hourly) not in _MADE:
        fewer = max((of for of, kind in _MADE if kind == hourly and of < last), default=-1)
        folder = TemporaryDirectory(prefix="sluice-batches-")
        made = Root(Path(folder.name), hourly=hourly)
        if fewer > 0:
            made.drain(0, fewer)
        for batch in range(fewer + 1, last + 1):
            made.drain(batch, batch)
        _MADE[last, hourly] = folder
    return _MADE[last, hourly].name


def write(folder: Any, rows: pa.Table):
    """In place of what an earlier stage has left there."""
    deltalake.write_deltalake(str(folder), rows, mode="overwrite")


def texts(rows: list[Row]) -> list[str]:
    """Each row as text: as Arrow gives it back, so that equal times are equal texts."""
    found = pa.Table.from_pylist(rows, NULLABLE).to_pylist()
    return sorted(repr([each[name] for name in NULLABLE.names]) for each in found)


def late(offset: int, position: datetime) -> MergedRecord:
    return MergedRecord(
        topic_id="topic-1", partition=0, offset=offset, source="late", fate="merged",
        position=position,
    )  # fmt: skip


def ten_hours(folder: Path) -> Root:
    """Ten hours in ten batches of one record each; what follows the sixth hour is open."""
    made = Root(folder)
    made.drain(0, 9)
    set_watermark(made, 9)
    return made


def set_watermark(root: Root, batch: int) -> None:
    clock = int((DAY + timedelta(hours=FINAL)).timestamp() * 1000)
    plan_batch(root.folder, batch, {0: batch + 1}, clock, topic="sales")


def add_late(root: Root, *events: tuple[int, float]) -> None:
    """The offset of each late record, and the hour that it is in."""
    rows = [
        {"pipeline": SPEC.name, "generation": "g1", "batch_id": 9, "run_id": "r", "step": "late"}
        | {"partition": 0, "offset": offset, "event_time": DAY + timedelta(hours=at)}
        | {"watermark_missed": DAY + timedelta(hours=FINAL)}
        for offset, at in events
    ]
    ops_tables.append(root.paths.root, "late", rows)
