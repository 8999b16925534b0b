"""A root as drains leave it, without Spark and Kafka: checkpoint, table, ops tables and cursor."""

import json
import shutil
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

import deltalake
import pyarrow as pa

from spark_jobs.admin.rebuild.beside import begin as begin_beside
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.messages.offset_account import Account
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import Row
from spark_jobs.registry.fingerprint.environment import environment
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.spec import Pipeline, State
from spark_jobs.table.delta.log_entries import GENERATION
from tests.harness.roots import NOON, Root
from tests.unit.checkpoints import begin, commit_batch, plan_batch
from tests.unit.specs import aggregate, deduplicate, pipeline

SPEC = pipeline()
NEXT = SPEC.model_copy(
    update={
        "state": State(version=2),
        "steps": (deduplicate(), aggregate(measures={"sales": "count(*)", "most": "max(amount)"})),
    }
)
COLUMN = pa.schema({"n": pa.int64()})


_BEGAN: dict[tuple[str, str, tuple[tuple[int, int], ...]], TemporaryDirectory[str]] = {}
"""Roots after their first runs, by their spec, generation and runs."""


class Drains(Root):
    """Batch n reads the record with offset n, and writes the row n."""

    def __init__(self, folder: Path, spec: Pipeline = SPEC, generation: str = "g1"):
        super().__init__(folder, spec)
        self.paths.ensure_writable()
        begin(self.folder, {0: 0}, "sales")
        table = deltalake.DeltaTable.create(
            str(self.paths.table),
            COLUMN,
            configuration={GENERATION: generation},
            raise_if_key_not_exists=False,
        )
        self.identified(
            generation,
            table_id=str(table.metadata().id),
            fingerprint=fingerprint(spec, version("pyspark")),
            environment=environment(spec),
        )
        Cursor(judged_table_version=0).write(self.paths.cursor)
        self._ended = NOON

    @classmethod
    def of(cls, folder: str, spec: Pipeline) -> "Drains":
        """The drains of a checkpoint that is there."""
        known = cls.__new__(cls)
        Root.__init__(known, folder, spec)
        known._ended = NOON + timedelta(days=1)  # noqa: SLF001 - its own
        return known

    @property
    def folder(self) -> Path:
        """Spark's checkpoint: behind a rewind another one."""
        return Path(str(self.paths.checkpoint))

    @property
    def rows(self) -> list[int]:
        """The output's rows."""
        return sorted(self.table.to_pyarrow_table().column("n").to_pylist())

    def commit(self, batch: int, table: deltalake.DeltaTable | None = None) -> int:
        """Commit a batch without an account; the table's version. `table`: the newest, if open."""
        table = table or self.table
        plan_batch(self.folder, batch, {0: batch + 1}, topic="sales")
        store = self.folder / "state" / "0" / "0"
        store.mkdir(parents=True, exist_ok=True)
        (store / f"{batch + 1}.snapshot").write_bytes(b"state")
        owner = self.identity.owner(SPEC.name)
        note = json.dumps({"sluice": owner, "batch": batch})
        deltalake.write_deltalake(
            table,
            pa.table({"n": [batch]}, COLUMN),
            mode="append",
            commit_properties=deltalake.CommitProperties(
                custom_metadata={"userMetadata": note},
                app_transactions=[deltalake.Transaction(owner, batch)],
            ),
        )
        commit_batch(self.folder, batch)
        return table.version()

    def account(self, batch: int, table_version: int | None, unaccounted: int = 0):
        """Give the batch its row in ops.batches."""
        self.put("batches", self._accounted(batch, table_version, unaccounted))

    def _accounted(self, batch: int, table_version: int | None, unaccounted: int) -> Row:
        counts = Account(covered=1, read=1, accepted=1, rows_out=1, unaccounted=unaccounted)
        row = {
            "pipeline": SPEC.name, "generation": self.identity.generation, "batch_id": batch,
            "run_id": "drain", "state_rows": batch, "state_bytes": 1,
            "table_version": table_version, "offsets_end": json.dumps({0: batch + 1}),
        }  # fmt: skip
        return row | counts.row()

    def drain(self, first: int, last: int, *, red: bool = False, unaccounted: int = 0):
        """Drain these batches. The run fails by its checks if it is `red`."""
        plain = self.paths.table.name == SPEC.name and not red and not unaccounted
        if first == 0 and plain and self.table.version() == 0:
            self.began((first, last))
        else:
            self._run(first, last, red=red, unaccounted=unaccounted)

    def began(self, *runs: tuple[int, int]):
        """The first passed runs, by first and last batches: made once and copied here."""
        key = self.spec.model_dump_json(), self.identity.generation, runs
        if key not in _BEGAN:
            _BEGAN[key] = TemporaryDirectory(prefix="sluice-began-")
            made = Drains(Path(_BEGAN[key].name), self.spec, key[1])
            for first, last in runs:
                made._run(first, last)
        shutil.copytree(_BEGAN[key].name, self.settings.root, dirs_exist_ok=True)
        self._ended += timedelta(hours=len(runs))

    def _run(self, first: int, last: int, *, red: bool = False, unaccounted: int = 0):
        table = self.table  # opened once: each batch makes its log longer to read
        batches = range(first, last + 1)
        self.put(
            "batches", *(self._accounted(n, self.commit(n, table), unaccounted) for n in batches)
        )
        now = table.version()
        self.moved(audited=last, table_version=now)
        if not red:
            self.moved(judged=last, judged_table_version=now)
        self._ended += timedelta(hours=1)
        of_run = {"generation": self.identity.generation, "table_version": now}
        if red:
            of_run["status"] = "failed"
        self.ended(f"{first} to {last}", at=self._ended, batches=tuple(batches), **of_run)

    def ops(self, table: str, columns: str) -> list[tuple[object, ...]]:
        """Rows of an ops table, ordered."""
        return sorted(tuple(row.values()) for row in self.told(table, columns))

    def accounted(self) -> list[tuple[object, ...]]:
        """Generation and batch of each row of ops.batches."""
        return sorted(self.ops("batches", "batch_id, generation"))


def begun_beside(folder: Path, offset: int = 0) -> tuple[Drains, Drains]:
    """The live root, which has drained offsets 0 to 4, and NEXT beside it, from `offset` on."""
    live = Drains(folder)
    live.drain(0, 4)
    began(live, "g1")
    begin_beside(live.paths, NEXT, "topic-1", "ada")
    side = Drains(folder, NEXT, "g2")
    side.drain(0, 4)
    began(side, "g2", offset)
    return live, side


def began(drains: Drains, generation: str, offset: int = 0) -> None:
    """The account of its batch 0 says that it began at this offset."""
    row = {"pipeline": SPEC.name, "generation": generation, "batch_id": 0}
    row["offsets_start"] = json.dumps({"0": offset})
    where = f"batch_id = 0 AND generation = '{generation}'"
    ops_tables.replace(drains.paths.root, "batches", [row], where)
