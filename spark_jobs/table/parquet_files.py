"""Parquet files: what Spark has written, put into a Delta table's log by delta-rs: Spark's own
writer of Delta queries logs, which takes longer than the rows.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from deltalake import Schema
from deltalake.transaction import AddAction, create_table_with_add_actions

from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.root.path_forms import delta_path, spark_url
from spark_jobs.table.delta import door

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from upath import UPath


def write_table(rows: DataFrame, path: UPath) -> None:
    """Make a table of the rows in place of what is there. All its columns may be null."""
    remove_folder(path)
    rows.write.parquet(spark_url(path))
    create_table_with_add_actions(
        delta_path(path),
        Schema.from_json(json.dumps(_nullable(rows.schema.jsonValue()))),
        adds(path),
        mode="error",
        storage_options=door.options(path),
    )


def adds(folder: UPath, part: dict[str, str] | None = None, prefix: str = "") -> list[AddAction]:
    """What a commit says that adds the folder's files: with their columns of this part of the
    table. `prefix` is the folder's path below the table.
    """
    return [
        AddAction(
            path=prefix + file.name,
            size=file.stat().st_size,
            partition_values=part or {},
            modification_time=int(time.time() * 1000),
            data_change=True,
            stats="{}",
        )
        for file in folder.iterdir()
        if file.suffix == ".parquet"
    ]


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
