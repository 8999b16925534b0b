"""Added columns: those of a topic's newer fields, in a table that has rows from before.

These rows have null there, whatever their records had: a rebuild alone reads them anew. The
table's schema says which columns are of that kind, so whoever compares rows knows it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import deltalake

from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.door import confirmed, here

if TYPE_CHECKING:
    from collections.abc import Collection

    from pyspark.sql.types import StructField, StructType
    from upath import UPath

    from spark_jobs.storage.lease_view import Held

MARK: Final = "sluice.added"
"""In the metadata of a column: the version of the table that first had it."""


def add_columns(
    path: UPath, columns: StructType, newer: Collection[str], held: Held | None = None
) -> tuple[str, ...]:
    """Add those of these columns that the table lacks, in one commit, if they are `newer` ones, or
    were added before and a rewind took them back. Their names.

    A column that was lost in another way stays lost: its rows would look like rows from before.
    """
    table = confirmed(path, held)
    known = {field.name for field in table.schema().fields}
    missing = [field for field in columns if field.name not in known]
    if any(field.name not in newer for field in missing):
        once = _once_added(path)
        missing = [field for field in missing if field.name in newer or field.name in once]
    if missing:
        marked = [_marked(field, table.version() + 1) for field in missing]
        table.alter.add_columns(marked, commit_properties=here())
    return tuple(field.name for field in missing)


def is_added(field: StructField) -> bool:
    """Whether the table has rows from before this column of it."""
    return MARK in field.metadata


def added_in(field: StructField) -> int:
    """The version of the table that first had this column of it; 0 of one that it began with."""
    return int(field.metadata.get(MARK, 0))


def _marked(field: StructField, version: int) -> deltalake.Field:
    made = {**field.jsonValue(), "nullable": True, "metadata": {MARK: str(version)}}
    return deltalake.Field.from_json(json.dumps(made))


def _once_added(path: UPath) -> set[str]:
    """The columns that the log, as far as it reaches, says were added."""
    log = Log.of(path)
    schemas = (
        json.loads(action["metaData"]["schemaString"])
        for number in log.commits
        for action in log.commit(number)
        if "metaData" in action
    )
    return {f["name"] for schema in schemas for f in schema["fields"] if MARK in f["metadata"]}
