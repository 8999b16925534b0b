"""Features of Delta tables with which writing by delta-rs was tried, or that do not concern it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from deltalake import TableFeatures

from spark_jobs.table.delta import door

if TYPE_CHECKING:
    import deltalake
    from upath import UPath

DELETION_VECTORS: Final = "deletionVectors"
INVARIANTS: Final = "invariants"
MAPPING: Final = "delta.columnMapping.mode"
TRIED: Final = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        INVARIANTS,
        "timestampNtz",
        "vacuumProtocolCheck",
    }
)
"""Column mapping: only while it maps nothing."""


def untried(table: deltalake.DeltaTable, tried: Collection[str] = ()) -> list[str]:
    """What the table has beside these and TRIED, in words; empty if nothing stands in the way."""
    protocol = table.protocol()
    has = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    mapping = table.metadata().configuration.get(MAPPING, "none")
    maps = [] if mapping == "none" else [f"{MAPPING} = {mapping}"]
    return sorted(has - TRIED - {*tried}) + maps


def unwritable(table: deltalake.DeltaTable) -> list[str]:
    """What keeps delta-rs from replacing rows of the table, in words; empty if nothing does."""
    return untried(table, {DELETION_VECTORS})


def name_invariants(path: UPath) -> int:
    """Let a protocol that names features name that of the table's NOT NULL columns. The version.

    For a timestamp_ntz delta-rs 1.6 writes such a protocol without it, and Spark refuses the table.
    """
    table = door.briefly(path)
    named = table.protocol().writer_features
    if named and INVARIANTS not in named and '"nullable":false' in table.schema().to_json():
        table.alter.add_feature([TableFeatures.Invariants])
        table = door.open_table(path)
    return table.version()
