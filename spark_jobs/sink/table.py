"""Table: the pipeline's Delta table: made, owned by one generation, and held against the columns that the query writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import deltalake

from spark_jobs.checkpoint.log import Checkpoint, checkpoint_broken
from spark_jobs.contract.errors import CheckpointForeign, TableChanged, TableReplaced
from spark_jobs.contract.spec import Pipeline
from spark_jobs.storage import delta

if TYPE_CHECKING:
    from pyspark.sql.types import StructType
    from upath import UPath

GENERATION = "sluice.generation"
CHECKPOINT_INTERVAL = "100"
"""Commits between two checkpoints of the table's log. One takes seconds; to read a hundred small commits takes less."""


def refuse_replaced(path: UPath, known_id: str, known_version: int | None) -> None:
    """Raise TableReplaced where this is not the table that the checkpoint has written, or has not all that it wrote.

    `known_id` is Delta's id of that table, empty before the first run; `known_version` the version of the last batch accounted
    for. Rows that were deleted or changed since are their owner's affair; a RESTORE to before that batch is not: what it took
    back would never be written again, since the checkpoint has passed it.
    """
    if not known_id:
        return
    if not delta.is_table(path):
        raise TableReplaced(f"there is no table at {path}, and the checkpoint has written one there: it was dropped.",
                            f"Put it back; or begin anew: `sluice reset {path.name}`.")
    if identifier(path) != known_id:
        raise TableReplaced(f"{path} is not the table that the checkpoint wrote: that was dropped, and this one made anew.",
                            f"Put the old one back; or begin anew: `sluice reset {path.name}`.")
    if known_version is not None:
        _refuse_restored(path, known_version)


def _refuse_restored(path: UPath, known_version: int) -> None:
    table = delta.open_table(path)
    since = table.version() - known_version
    restored = [entry for entry in table.history(since) if entry["operation"] == "RESTORE"] if since > 0 else []
    to = restored[0].get("operationParameters", {}).get("version") if restored else known_version
    if to is None or int(to) < known_version:
        raise TableReplaced(
            f"{path} was restored to version {to or '(of a time)'}, and what batches wrote up to version {known_version} is "
            "gone from it: the checkpoint has passed them, and no run would write them again.",
            f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {known_version}; or begin anew: `sluice reset {path.name}`.",
        )


def refuse_ahead(path: UPath, owner: str, checkpoint: Checkpoint) -> None:
    """Raise CheckpointBroken where the table has a batch that the checkpoint does not know.

    Spark would plan that batch anew, with other offsets, and its rows would be taken for those that are written already.
    """
    done, newest = newest_batch(path, owner), max(checkpoint.planned(), default=-1)
    if done > newest:
        raise checkpoint_broken(f"{path} has batch {done}, and {checkpoint.folder / 'offsets'} ends at {newest}", path.name)


def newest_batch(path: UPath, owner: str) -> int:
    """The newest batch that the table has of this owner (pipeline/generation), by its transaction id; -1 where it has none."""
    if not delta.is_table(path):
        return -1
    done = delta.open_table(path).transaction_version(owner)
    return -1 if done is None else int(done)


def ensure(path: UPath, columns: StructType, spec: Pipeline, generation: str) -> int:
    """Make the table where there is none, tie it to this generation, and return its version.

    Raises CheckpointForeign where another generation wrote it: a new checkpoint on the same table would double every row.
    Raises TableChanged where it lacks a column that the query writes, or has it with another type.
    """
    if not delta.is_table(path):
        # The change feed tells which rows a run wrote, from the log alone as long as rows are only appended.
        deltalake.DeltaTable.create(
            str(path), deltalake.Schema.from_json(columns.json()), name=spec.name, description=spec.about,
            configuration={
                "delta.enableChangeDataFeed": "true", "delta.checkpointInterval": CHECKPOINT_INTERVAL, GENERATION: generation,
            },
            raise_if_key_not_exists=False, storage_options=delta.options(path),
        )
        return 0
    table = delta.open_table(path)
    owner = table.metadata().configuration.get(GENERATION)
    if owner != generation:
        raise CheckpointForeign(
            f"{path} was written by generation {owner} of {spec.name}, and this checkpoint is generation {generation}.",
            f"Put the old checkpoint back, or begin both anew with `sluice reset {spec.name}`: this run would double its rows.",
        )
    refuse_changed(table, columns)
    return table.version()


def refuse_changed(table: deltalake.DeltaTable, columns: StructType) -> None:
    """Raise TableChanged unless the table has each of these columns, with its type. More columns stay null.

    Appending goes below Delta's own enforcement of the schema, and a column that the table lacks would be written unseen.
    """
    has = {field["name"]: field["type"] for field in json.loads(table.schema().to_json())["fields"]}
    for field in columns.jsonValue()["fields"]:
        name, wanted = field["name"], field["type"]
        if name not in has or has[name] != wanted:
            found = f"has it as {has[name]}" if name in has else f"has {', '.join(has)}"
            raise TableChanged(
                f"{table.table_uri} cannot take column {name} {wanted}: it {found}.",
                f"Put the column back as it was (its history: DESCRIBE HISTORY delta.`{table.table_uri}`), or begin anew from "
                "Kafka: `sluice reset`.",
            )


def identifier(path: UPath) -> str:
    """Delta's own id of the table."""
    return str(delta.open_table(path).metadata().id)


def version(path: UPath) -> int:
    """The table's newest version."""
    return delta.open_table(path).version()
