"""Commit of the published table: its actions, as Delta's protocol has them, with the protocol and
metadata that readers need of the pipeline's table's.

Of a table that follows a key, consumers see neither the deletes that it remembers, nor Sluice's own
columns. Deletes are in files of their own, since they are a partition.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from typing import NamedTuple

from pydantic import BaseModel

from spark_jobs.errors import PublishedTableRefused
from spark_jobs.table.delta.changes import changes
from spark_jobs.table.delta.delta_log import Action, Log
from spark_jobs.table.delta.door import INVARIANTS
from spark_jobs.values.own_columns import DELETED, is_own
from spark_jobs.values.spans import Span


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


OWNER = "sluice.published"
"""The property of a published table that names its pipeline."""
CHECKPOINT_EVERY = 100
"""Commits between two checkpoints of its log, as for the pipeline's table."""
_FILE = ("path", "partitionValues", "size", "dataChange", "deletionVector")
ADD = (*_FILE, "modificationTime", "stats")
REMOVE = (*_FILE, "deletionTimestamp", "extendedFileMetadata")
PROPERTIES = {
    # It names files that others own. VACUUM does not look into their folder, but VACUUM LITE goes
    # by what the log removed: for so long it must not. For longer, checkpoints would grow.
    "delta.deletedFileRetentionDuration": "interval 30 days",
    "delta.checkpointInterval": str(CHECKPOINT_EVERY),
}


PROVED = "sluice.proved"
"""The property of a published table that says which of its rows are proved (Proved, as JSON)."""


class ProvedSpan(NamedTuple):
    """Rows that a verify found to be what their records give."""

    start: datetime
    end: datetime
    """The first instant behind it."""
    on: date
    """When the oldest of the verifies was."""


class Proved(BaseModel):
    """The rows of a published table that are proved: those whose `column` is in one of the spans.
    The bound of a window counts to the window before it.
    """

    column: str = ""
    spans: tuple[ProvedSpan, ...] = ()

    def without(self, log: Log, since: int, until: int) -> Proved:
        """What is left of it behind these commits of the pipeline's table: the spans of which none
        may have changed a row.
        """
        later = [*changes(log, since, until)] if self.spans else []
        left = (
            each
            for each in self.spans
            if not any(c.touches(self.column, (Span(each.start, each.end),)) for c in later)
        )
        return self.model_copy(update={"spans": tuple(left)})


class Shown(BaseModel):
    """What a commit of the published table shows: its userMetadata, as JSON."""

    table_id: str
    """Delta's id of the pipeline's table: another one after a reset."""
    version: int
    """The version of that table."""
    ahead: tuple[int, ...] = ()
    """Later versions of it, whose appends are shown too."""
    data: str
    """Where its files are, from the published table's folder."""
    own_id: str
    """Delta's id of the published table."""
    proved: Proved = Proved()
    """Which of its rows are."""


class Content(NamedTuple):
    """The actions of a commit. Metadata and protocol are the pipeline's table's, None if they stay
    as they are.
    """

    own_id: str
    metadata: Action | None
    protocol: Action | None
    added: list[Action]
    removed: list[Action]


def actions(content: Content, mark: Shown, pipeline: str) -> Iterator[Action]:
    """The commit's actions, with the mark first."""
    yield {
        "commitInfo": {
            "timestamp": _now_ms(),
            "operation": "SLUICE PUBLISH",
            "operationParameters": {"version": json.dumps(mark.version)},
            "engineInfo": "sluice",
            "userMetadata": mark.model_dump_json(),
        }
    }
    if content.protocol:
        yield {"protocol": shown_protocol(content.protocol, pipeline)}
    if content.metadata:
        properties = PROPERTIES | {OWNER: pipeline}
        if mark.proved.spans:
            properties |= {PROVED: mark.proved.model_dump_json()}
        yield {"metaData": shown_metadata(content.metadata, content.own_id, properties)}
    yield from ({"remove": _only(REMOVE, file)} for file in content.removed)
    yield from ({"add": _only(ADD, file)} for file in content.added)


def _only(fields: tuple[str, ...], file: Action) -> Action:
    """Without what belongs to features that the published table does not have (row tracking)."""
    return {name: file[name] for name in fields if file.get(name) is not None}


def as_new(file: Action) -> Action:
    """It as a change of rows, and not only of the files that they are in."""
    return file | {"dataChange": True}


def as_removed(file: Action) -> Action:
    """The remove of a file that was added, as a change of rows."""
    return file | {"dataChange": True, "deletionTimestamp": _now_ms(), "extendedFileMetadata": True}


def no_file() -> Action:
    """What a commit removes that only adds rows and is no append: streams pass over it then."""
    said = {"path": "_no_file", "dataChange": True, "extendedFileMetadata": False}
    return said | {"deletionTimestamp": _now_ms()}


def _now_ms() -> int:
    return int(time.time() * 1000)
