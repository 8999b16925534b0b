"""Added: the rows that one version of a table added, by its log and without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.table.arrow_rows import parquet_file
from spark_jobs.table.delta.delta_log import Log, changes_data

if TYPE_CHECKING:
    from upath import UPath


def sum_of(table: UPath, version: int, column: str) -> int | None:
    """The sum of a column over the rows that the version added.

    None if its entry of the log or one of its files is gone (VACUUM, log clean-up).
    """
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


def added(table: UPath, version: int) -> pa.Table | None:
    """As Table.added."""
    found = []
    try:
        for action in Log.of(table).commit(version):
            if "remove" in action and changes_data(action["remove"]):
                return None
            if "add" in action:
                if action["add"].get("partitionValues"):  # columns that the file has not
                    return None
                with parquet_file(table / unquote(action["add"]["path"])) as file:
                    found.append(file.read())
    except FileNotFoundError:
        return None
    return pa.concat_tables(found, promote_options="default") if found else pa.table({})
