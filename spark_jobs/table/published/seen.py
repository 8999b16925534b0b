"""Seen: what consumers see of a table that follows a key: neither the deletes that it remembers,
nor Sluice's own columns. Deletes are in files of their own, since they are a partition.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from spark_jobs.values.own_columns import DELETED, is_own

if TYPE_CHECKING:
    from spark_jobs.table.delta.delta_log import Action


def seen(files: Iterable[Action]) -> Iterator[Action]:
    """The adds or removes that consumers see, as the published table has them."""
    for file in files:
        parts = file.get("partitionValues") or {}
        if DELETED not in parts:
            yield file
        elif parts[DELETED] == "false":
            yield file | {"partitionValues": {n: v for n, v in parts.items() if n != DELETED}}


def seen_columns(metadata: Action) -> Action:
    """The metaData action without Sluice's own columns."""
    schema = json.loads(metadata["schemaString"])
    fields = [field for field in schema["fields"] if not is_own(field["name"])]
    parts = [name for name in metadata.get("partitionColumns", ()) if not is_own(name)]
    if len(fields) == len(schema["fields"]):
        return metadata
    columns = json.dumps(schema | {"fields": fields})
    return metadata | {"schemaString": columns, "partitionColumns": parts}
