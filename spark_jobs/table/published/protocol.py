"""Protocol and metadata of a published table: what readers need of the pipeline's table's."""

from __future__ import annotations

from spark_jobs.errors import PublishedTableRefused
from spark_jobs.table.delta.delta_log import Action
from spark_jobs.table.delta.features import INVARIANTS
from spark_jobs.table.published.seen import seen_columns

CARRIED = frozenset(
    {"columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "typeWidening-preview"}
)
"""Features that a reader must know, and that are in the entries and the schema alone, which are
copied.
"""
NOT_READ = frozenset({"v2Checkpoint", "vacuumProtocolCheck"})
"""Features of readers that concern a log or its VACUUM: the published table has its own log."""
COLUMN_MAPPING = 2
"""The reader version of a table with column mapping, before features had names."""
NAMED_FEATURES = 3
"""The reader version from which on features have names."""


def shown_protocol(protocol: Action, table: str) -> Action:
    """The protocol action: only what readers need, because nobody but `publish` writes it.

    Raises PublishedTableRefused for a feature that entries and schema alone do not carry.
    """
    if protocol["minReaderVersion"] < NAMED_FEATURES:
        mapped = protocol["minReaderVersion"] == COLUMN_MAPPING
        versions = (2, 5) if mapped else (1, 2)
        return dict(zip(("minReaderVersion", "minWriterVersion"), versions, strict=True))
    features = set(protocol.get("readerFeatures", ())) - NOT_READ
    if unknown := sorted(features - CARRIED):
        raise PublishedTableRefused.feature_unpublishable(table=table, unknown=", ".join(unknown))
    # Spark reads no NOT NULL column that the features of writers do not allow.
    written = features | {INVARIANTS} & {*protocol.get("writerFeatures", ())}
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": sorted(features),
        "writerFeatures": sorted(written),
    }


def shown_metadata(metadata: Action, own_id: str, properties: dict[str, str]) -> Action:
    """The metaData action: the same schema and partitions, but for own columns, with the published
    table's own id and properties.
    """
    mapping = {
        name: value
        for name, value in metadata.get("configuration", {}).items()
        if name.startswith("delta.columnMapping.")
    }
    return seen_columns(metadata) | {"id": own_id, "configuration": properties | mapping}
