"""One builder of roots: what every root of a test has, and the values that its parts are made of."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import deltalake
import pyarrow as pa

from spark_jobs.checkpoint.identity import Identity, read_identity
from spark_jobs.checkpoint.notes.cursor import Cursor, read_cursor
from spark_jobs.messages.report import CheckResult, Problem, Report
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import Row
from spark_jobs.repair.find.plan import RepairPlan
from spark_jobs.repair.manifest import Manifest
from spark_jobs.runs.run_record import append_row
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.spans import Position

ROOT: Final = "a röot of 5% #1"
"""The name of a root: with what escaping, patterns and URLs could take for their own."""
NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)


def report(pipeline, run_id="run", problem=None, **more) -> Report:
    """A run's report, failed by the problem if there is one, or a code of one."""
    given: dict[str, Any] = {"pipeline": pipeline, "run_id": run_id, "status": "succeeded"}
    if problem:
        told = Problem(code=problem, what="") if isinstance(problem, str) else problem
        given |= {"status": "failed", "problem": told}
    at = more.pop("at", NOON)
    return Report(**given | {"started_at": at, "ended_at": at} | more)


def check(outcome: str = "failed", column: str | None = None, **more: Any) -> CheckResult:
    """A critical check of the output, with three rows that fail it if it failed."""
    given: dict[str, Any] = {"suite": "output", "type": "expect_x", "severity": "critical"}
    given |= {"column": column, "outcome": outcome, "unexpected": 3 * (outcome == "failed")}
    return CheckResult.model_validate(given | more)


def manifest(pipeline: str, **more: Any) -> Manifest:
    """That of a staged repair of no range."""
    given: dict[str, Any] = {"repair_id": "r1", "pipeline": pipeline, "kind": "repair"}
    given |= {"generation": "g1", "spans": (), "differing": (), "table_id": "t"}
    given |= {"table_version": 0, "position": Position("window_end", "end")}
    return Manifest(**given | more)


def repair_plan(pipeline: str, **more: Any) -> RepairPlan:
    """That of a repair which needs no record."""
    given: dict[str, Any] = {"repair_id": "r1", "pipeline": pipeline, "kind": "repair"}
    given |= {"generations": ("g1",), "topic_id": "topic-1", "table_version": 1, "batch": 0}
    given |= {"spans": (), "needed": (), "horizon": {}, "parts": {}, "records": 0, "late": 0}
    return RepairPlan(**given | {"until": NOON, "lines": ()} | more)


class Root:
    """A pipeline's root; the builder of a scene adds what its drains leave there."""

    def __init__(self, folder, spec, paths=None, **settings) -> None:
        """`paths`: of a root that is there already."""
        self.spec = spec
        given = (str(folder), "broker:9092", Path(folder), "local[1]", "1g")
        self.settings = Settings(*given, **settings)
        self.paths = paths or Paths(str(folder), spec)

    def identified(self, generation: str, **more: Any) -> None:
        """Write the checkpoint's identity."""
        given: dict[str, Any] = {"topic_id": "topic-1", "fingerprint": {}}
        Identity(generation=generation, **given | more).write(self.paths.identity)

    @property
    def identity(self) -> Identity:
        """As it is stored, also if a rewind was cut off."""
        known = read_identity(self.paths)
        assert known is not None
        return known

    @property
    def cursor(self) -> Cursor:
        """As it is stored."""
        return read_cursor(self.paths.cursor)

    def moved(self, **changes: Any) -> None:
        """Move the cursor."""
        self.cursor.model_copy(update=changes).write(self.paths.cursor)

    @property
    def table(self) -> deltalake.DeltaTable:
        """The output."""
        return deltalake.DeltaTable(str(self.paths.table))

    @property
    def version(self) -> int:
        """The output's newest."""
        return self.table.version()

    def ended(self, run_id: str, problem: str | None = None, **more: Any) -> Report:
        """Write the row of a run in ops.runs."""
        told = report(self.spec.name, run_id, problem, **more)
        return append_row(told, self.settings.root, beside=self.paths.place.beside)

    def put(self, table: str, *rows: Row) -> None:
        """Append rows to an ops table."""
        ops_tables.append(self.paths.root, table, [*rows])

    def told(self, table: str, columns: str = "*") -> list[Row]:
        """Rows of an ops table."""
        return told(self.paths.root, table, columns)


def told(root: Any, table: str, columns: str = "*", order: str = "") -> list[Row]:
    """Rows of an ops table of this root, in this order if there is one."""
    sql = f"SELECT {columns} FROM {table}" + (f" ORDER BY {order}" if order else "")
    rows: list[Row] = ops_tables.query(root, table, sql).to_pylist()
    return rows


def rows_of(table: Any, version: int | None = None) -> list[Row]:
    """Rows of a Delta table, read without Spark."""
    builder = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(table), version))
    rows: list[Row] = pa.table(builder.execute("SELECT * FROM t").read_all()).to_pylist()
    return rows
