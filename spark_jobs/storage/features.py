"""Features of Delta tables with which writing by delta-rs was tried, or that do not concern it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import deltalake

DELETION_VECTORS: Final = "deletionVectors"
MAPPING: Final = "delta.columnMapping.mode"
TRIED: Final = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "invariants",
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
