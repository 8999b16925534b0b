"""Sink: Delta, exactly once, by Delta's own streaming sink (its transaction id is the query's id and the batch's)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import deltalake
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StreamingQuery

from spark_jobs.contract.errors import CheckpointForeign
from spark_jobs.contract.paths import Paths
from spark_jobs.contract.spec import Pipeline

if TYPE_CHECKING:
    from upath import UPath

GENERATION = "sluice.generation"


class Written(NamedTuple):
    """What one batch's commit wrote."""

    rows: int
    version: int


def ensure_table(path: UPath, rows: DataFrame, spec: Pipeline, generation: str) -> int:
    """Make the table where there is none, tie it to this generation, and return its version.

    Raises CheckpointForeign where another generation wrote it: a new checkpoint on the same table would double every row.
    """
    if not deltalake.DeltaTable.is_deltatable(str(path)):
        schema = deltalake.Schema.from_json(rows.schema.json())
        # The change feed tells which rows a run wrote, from the log alone as long as rows are only appended.
        deltalake.DeltaTable.create(
            str(path), schema, name=spec.name, description=spec.about,
            configuration={"delta.enableChangeDataFeed": "true", GENERATION: generation}, raise_if_key_not_exists=False,
        )
        return 0
    table = deltalake.DeltaTable(str(path))
    owner = table.metadata().configuration.get(GENERATION)
    if owner != generation:
        raise CheckpointForeign(
            f"{path} was written by generation {owner} of {spec.name}, and this checkpoint is generation {generation}.",
            "Put the old checkpoint back, or move the table away to start both anew: this run would double its rows.",
        )
    return table.version()


def start(rows: DataFrame, spec: Pipeline, paths: Paths) -> StreamingQuery:
    """Start the query: it takes what Kafka holds now, and stops."""
    writer = rows.writeStream.format("delta").outputMode(spec.output_mode).queryName(spec.name)
    return writer.option("checkpointLocation", str(paths.checkpoint)).trigger(availableNow=True).start(str(paths.table))


def written(path: UPath, query_id: str, since_batch: int) -> dict[int, Written]:
    """Batch id -> what its commit wrote, for the batches of one query from `since_batch` on; from the table's own history."""
    found: dict[int, Written] = {}
    for epoch, commit in _streaming_commits(path, query_id):
        if epoch < since_batch:
            break
        found[epoch] = Written(int(commit["operationMetrics"].get("numOutputRows", 0)), int(commit["version"]))
    return found


def _streaming_commits(path: UPath, query_id: str) -> Iterator[tuple[int, dict]]:
    for commit in deltalake.DeltaTable(str(path)).history():
        parameters = commit.get("operationParameters") or {}
        if commit.get("operation") == "STREAMING UPDATE" and parameters.get("queryId") == query_id:
            yield int(parameters["epochId"]), commit


def version(path: UPath) -> int:
    """The table's newest version."""
    return deltalake.DeltaTable(str(path)).version()
