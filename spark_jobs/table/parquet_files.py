"""Parquet files: what Spark has written, put into a Delta table's log by delta-rs: Spark's own
writer of Delta queries logs, which takes longer than the rows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltalake import Schema
from deltalake.transaction import create_table_with_add_actions

from spark_jobs.storage.root.path_forms import delta_path, spark_url
from spark_jobs.table.delta import door
from spark_jobs.table.shared.table import adds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from upath import UPath


def write_table(rows: DataFrame, path: UPath) -> None:
    """Make a table of the rows, where none is. All its columns may be null."""
    rows.write.parquet(spark_url(path))
    create_table_with_add_actions(
        delta_path(path),
        Schema.from_json(json.dumps(_nullable(rows.schema.jsonValue()))),
        adds(path),
        mode="error",
        storage_options=door.options(path),
    )


def _nullable(kind: Any) -> Any:
    """A type of Spark's, as JSON has it, in which everything may be null: Delta's files have no
    other columns. Without the fields' metadata.
    """
    if isinstance(kind, list):
        return [_nullable(each) for each in kind]
    if not isinstance(kind, dict):
        return kind
    given: dict[str, Any] = {
        "nullable": True,
        "containsNull": True,
        "valueContainsNull": True,
        "metadata": {},
    }
    return {name: given.get(name, _nullable(value)) for name, value in kind.items()}
