"""Table: writes of a shared table. Each is one commit, tried again behind another writer's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import deltalake
from deltalake.transaction import AddAction

from spark_jobs.storage.root.path_forms import delta_path
from spark_jobs.table.delta import door, rewrite
from spark_jobs.table.delta.answer import aside

if TYPE_CHECKING:
    import pyarrow as pa
    from upath import UPath

    from spark_jobs.storage.lease_view import Held

ROW_GROUP: Final = 20_000
"""Rows that the writer of many keeps until it writes them."""
FILE: Final = 16_000_000
"""Bytes. It keeps a file until it is whole."""
PART: Final = "pipeline"
CHECKPOINTS: Final = {"delta.checkpointInterval": "20"}
"""A run opens these tables a dozen times, and delta-rs reads each commit behind the checkpoint by a
thread of its own: at 60 an append and a query take 63 ms of the processor, at 20 some 12. To write
a checkpoint takes as long as one of them.
"""


def is_there(path: UPath) -> bool:
    """Whether it has been made."""
    return door.is_table(path)


def make(path: UPath | str, columns: pa.Schema) -> None:
    """Make it, without a row, unless another process has."""
    deltalake.DeltaTable.create(
        delta_path(path),
        columns,
        partition_by=[PART],
        configuration=CHECKPOINTS,
        mode="ignore",
        storage_options=door.options(path),
    )


@door.patiently
def append(path: UPath, rows: pa.Table) -> None:
    """Add rows, and the columns that an older Sluice's table lacks."""
    deltalake.write_deltalake(
        delta_path(path),
        rows,
        mode="append",
        schema_mode="merge",
        storage_options=door.options(path),
    )


@door.patiently
def replace(path: UPath, rows: pa.Table, where: str, held: Held | None = None) -> None:
    """Replace all rows for which the SQL condition holds, also if there are none. `held` is the
    lease that protects them, if one does. Raises LeaseLost.
    """
    rewrite.overwrite(
        door.confirmed(path, held),
        rows,
        where,
        schema_mode="merge",
        commit_properties=door.ours(held),
    )


@door.patiently
def replace_parts(
    path: UPath,
    columns: pa.Schema,
    parts: Callable[[], Iterator[pa.RecordBatch]],
    where: str,
    held: Held,
) -> None:
    """As `replace`, with parts that have these columns: of any number of rows, some thousand in
    memory. `parts` is called again if it must be tried again.
    """
    rewrite.overwrite(
        door.confirmed(path, held),
        aside(columns, parts()),
        where,
        schema_mode="merge",
        writer_properties=deltalake.WriterProperties(max_row_group_size=ROW_GROUP),
        target_file_size=FILE,
        commit_properties=door.ours(held),
    )


@door.patiently
def add_files(path: UPath, columns: pa.Schema, pipeline: str, folder: UPath) -> None:
    """Add the Parquet files of a folder within the pipeline's part. Before it, columns that an
    older Sluice's table lacks: nobody would see what the files have there.

    They have all columns but the part's. Nothing is committed if there are none.
    """
    added = adds(folder, {PART: pipeline}, f"{folder.parent.name}/{folder.name}/")
    if added:
        stored = _widened(path, columns)
        stored.create_write_transaction([*added], "append", stored.schema(), [PART])


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


def _widened(path: UPath, columns: pa.Schema) -> deltalake.DeltaTable:
    stored = door.open_table(path)
    known = {field.name for field in stored.schema().fields}
    wanted = deltalake.Schema.from_arrow(columns).fields
    if missing := [field for field in wanted if field.name not in known]:
        stored.alter.add_columns(missing)
        stored = door.open_table(path)
    return stored
