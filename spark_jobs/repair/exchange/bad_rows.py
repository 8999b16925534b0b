"""Bad rows: what a repair found malformed or premature, put into ops.quarantine by its swap, each
record once. Without Spark, some thousand records after the others: there may be any number, and
each has its bytes.

A record that a replay has brought into the rows is there already: it only loses its fate, and waits
for a replay again, as the others do from now on. Once the repair leaves the table, it has the fate
again (ops/taken_out.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.ops.taken_out import PLACE, take_out
from spark_jobs.table.delta.answer import streamed
from spark_jobs.table.delta.door import open_table

if TYPE_CHECKING:
    from spark_jobs.repair.manifest import Manifest
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths

BAD = "bad"
"""The folder of a staging that has them, as rows of ops.quarantine."""
PLACES = pa.schema([SCHEMAS["quarantine"].field(name) for name in PLACE])


def put_bad(paths: Paths, manifest: Manifest, held: Held) -> None:
    """Put them there, in place of what an earlier try put. Nothing is done twice."""
    known = read_identity(paths)
    generations = known.generations if known else (manifest.generation,)
    staged = _Staged(paths, manifest)
    there, ours = staged.there(generations), staged.by_its_run
    if there.num_rows < staged.count:
        ops_tables.replace_parts(paths.root, "quarantine", lambda: staged.parts(there), ours, held)
    _take_out(paths, manifest, there, generations, held)


def take_out_bad(paths: Paths, manifest: Manifest, generations: Sequence[str], held: Held) -> None:
    """Take the fates of replayed records among them once more: the repair is in the table again."""
    _take_out(paths, manifest, _Staged(paths, manifest).there(generations), generations, held)


def _take_out(
    paths: Paths, manifest: Manifest, there: pa.Table, generations: Sequence[str], held: Held
) -> None:
    if there.num_rows:
        of_these = ops_tables.of_checkpoint(manifest.pipeline, generations)
        take_out(paths.root, manifest.repair_id, there, of_these, held)


class _Staged:
    """The folder bad/ of a repair."""

    def __init__(self, paths: Paths, manifest: Manifest) -> None:
        self._root, self._pipeline = paths.root, manifest.pipeline
        self._table = open_table(paths.staging(manifest.repair_id) / BAD)
        ran = self._run("SELECT min(run_id) AS run_id, count(*) AS n FROM bad")
        [row] = ran.read_all().to_pylist()
        self.count: int = row["n"]
        self.by_its_run = ops_tables.equals({"pipeline": self._pipeline, "run_id": row["run_id"]})
        """The SQL condition for its rows in ops.quarantine."""

    def there(self, generations: Sequence[str]) -> pa.Table:
        """PLACE of its records that ops.quarantine has from somebody else."""
        kept = (
            f"{ops_tables.of_checkpoint(self._pipeline, generations)} AND NOT ({self.by_its_run})"
        )
        others = ops_tables.query(
            self._root, "quarantine", f'SELECT "partition", "offset" FROM quarantine WHERE {kept}'
        ).cast(PLACES)
        places = self._run('SELECT "partition", "offset" FROM bad').read_all().cast(PLACES)
        return places.join(others, PLACE, join_type="left semi").select(PLACE)

    def parts(self, there: pa.Table) -> Iterator[pa.RecordBatch]:
        """The rows of the others."""
        schema = SCHEMAS["quarantine"]
        for part in self._run("SELECT * FROM bad"):
            rows = _whole(pa.Table.from_batches([part]), schema)
            if there.num_rows:
                # By their numbers: Arrow joins no lists, as headers are.
                numbers = pa.array(range(rows.num_rows))
                places = rows.select(PLACE).append_column("number", numbers)
                others = places.join(there, PLACE, join_type="left anti")
                rows = rows.take(others.column("number"))
            yield from rows.to_batches()

    def _run(self, sql: str) -> pa.RecordBatchReader:
        one = {"datafusion.execution.target_partitions": "1"}
        return streamed(sql, {"bad": self._table}, one)


def _whole(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """An older Sluice may have staged them without the newest columns."""
    for field in schema:
        if field.name not in rows.column_names:
            rows = rows.append_column(field, pa.nulls(rows.num_rows, field.type))
    return rows.select(schema.names).cast(schema)
