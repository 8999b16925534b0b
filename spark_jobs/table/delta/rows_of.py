"""The rows of one commit of the table, read from its files without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from spark_jobs.storage.parquet_files import parquet_file
from spark_jobs.table.delta.delta_log import Log

if TYPE_CHECKING:
    from upath import UPath


def sum_of(table: UPath, version: int, column: str) -> int | None:
    """The sum of a column over the rows that the version added.

    None if its entry of the log or one of its files is gone (VACUUM, log clean-up).
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - only a batch whose progress was lost needs it

    total = 0
    try:
        for action in Log.of(table).commit(version):
            if "add" in action:
                with parquet_file(table / unquote(action["add"]["path"])) as file:
                    read = file.read(columns=[column])
                total += pc.sum(read[column]).as_py() or 0
    except FileNotFoundError:
        return None
    return total
