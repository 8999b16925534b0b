"""Ops rows: what the runs of a rebuild wrote into the ops tables of the side root, put into those
of the live one.

The checkpoint that becomes live needs them: its account, its late records, its index. Their table
versions are the side table's, so they become the version that the switch committed.
"""

from __future__ import annotations

import pyarrow as pa

from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.root.paths import Paths

OF_GENERATIONS = ("batches", "quarantine", "late", "slices", "checks", "repairs", "merged")
"""Tables whose rows have a generation: those of the rebuild are put again as a whole, so it may be
done twice.
"""
VERSIONS = ("table_version", "table_version_before")


def put_rows(side: Paths, paths: Paths, generations: tuple[str, ...], version: int) -> None:
    """Put all rows of these generations, and the runs."""
    name = side.table.name
    where = ops_tables.equals({"pipeline": name})
    ours = f"{where} AND {ops_tables.among('generation', generations)}"
    for table in OF_GENERATIONS:
        if ops_tables.exists(side.root, table):
            rows = ops_tables.query(side.root, table, f"SELECT * FROM {table} WHERE {ours}")
            if rows.num_rows:
                ops_tables.replace(paths.root, table, _moved(rows, table, version), ours)
    put_runs(side, paths)


def put_runs(side: Paths, paths: Paths) -> None:
    """Put the runs that the live ops.runs does not have yet, as of the kind rebuild."""
    if not ops_tables.exists(side.root, "runs"):
        return
    where = ops_tables.equals({"pipeline": side.table.name})
    there = ops_tables.query(paths.root, "runs", f"SELECT run_id FROM runs WHERE {where}")
    known = {row["run_id"] for row in there.to_pylist()}
    rows = ops_tables.query(side.root, "runs", f"SELECT * FROM runs WHERE {where}").to_pylist()
    new = [row | {"kind": "rebuild"} for row in rows if row["run_id"] not in known]
    if new:
        ops_tables.append(paths.root, "runs", new)


def _moved(rows: pa.Table, table: str, version: int) -> pa.Table:
    """In the columns of today, with the version that the live table has these rows in."""
    rows = rows.select(SCHEMAS[table].names).cast(SCHEMAS[table])
    for column in VERSIONS:
        if column in rows.column_names:
            values = [None if value is None else version for value in rows[column].to_pylist()]
            at = rows.column_names.index(column)
            rows = rows.set_column(at, SCHEMAS[table].field(column), pa.array(values, pa.int64()))
    return rows
