"""Bad rows: what a repair found malformed or premature, put into ops.quarantine by its swap, each
record once. Without Spark.

A record that a replay has brought into the rows is there already: it only loses its fate, and waits
for a replay again, as the others do from now on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import deltalake
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.storage.answer import table_of
from spark_jobs.storage.delta import open_table

if TYPE_CHECKING:
    from spark_jobs.contract.paths import Paths
    from spark_jobs.repair.manifest import Manifest

BAD = "bad"
"""The folder of a staging that has them, as rows of ops.quarantine."""
PLACE = ["partition", "offset"]


def put_bad(paths: Paths, manifest: Manifest) -> None:
    """Put them there, in place of what an earlier try put. Nothing is done twice."""
    found = _staged(paths, manifest)
    [run_id] = pc.unique(found["run_id"]).to_pylist()
    ours = ops_tables.equals({"pipeline": manifest.pipeline, "run_id": run_id})
    known = read_identity(paths)
    generations = known.generations if known else (manifest.generation,)
    of_these = (
        f"{ops_tables.equals({'pipeline': manifest.pipeline})} "
        f"AND {ops_tables.among('generation', generations)}"
    )
    there = ops_tables.query(
        paths.root,
        "quarantine",
        f'SELECT "partition", "offset" FROM quarantine WHERE {of_these} AND NOT ({ours})',
    ).cast(pa.schema([SCHEMAS["quarantine"].field(name) for name in PLACE]))
    new = found.join(there, PLACE, join_type="left anti")
    if new.num_rows:
        rows = new.select(SCHEMAS["quarantine"].names)
        ops_tables.replace(paths.root, "quarantine", rows, ours)
    if new.num_rows < found.num_rows:
        _take_out(paths, found.join(there, PLACE, join_type="left semi").select(PLACE), of_these)


def _staged(paths: Paths, manifest: Manifest) -> pa.Table:
    stored = open_table(paths.staging(manifest.repair_id) / BAD)
    sql = "SELECT * FROM bad"
    rows = table_of(deltalake.QueryBuilder().register("bad", stored).execute(sql))
    return rows.select(SCHEMAS["quarantine"].names).cast(SCHEMAS["quarantine"])


def _take_out(paths: Paths, places: pa.Table, of_these: str) -> None:
    """Let ops.merged say no longer that these records of ops.quarantine are in the rows."""
    brought = f"{of_these} AND source = 'quarantine'"
    told = ops_tables.query(paths.root, "merged", f"SELECT * FROM merged WHERE {brought}")
    told = told.select(SCHEMAS["merged"].names).cast(SCHEMAS["merged"])
    left = told.join(places, PLACE, join_type="left anti").select(SCHEMAS["merged"].names)
    if left.num_rows < told.num_rows:
        ops_tables.replace(paths.root, "merged", left, brought)
