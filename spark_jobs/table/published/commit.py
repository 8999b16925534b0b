"""Commit of the published table: its actions, as Delta's protocol has them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import BaseModel

from spark_jobs.table.delta.delta_log import Action
from spark_jobs.table.published.protocol import shown_metadata, shown_protocol

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
    return file | {
        "dataChange": True,
        "deletionTimestamp": _now_ms(),
        "extendedFileMetadata": True,
    }


def no_file() -> Action:
    """What a commit removes that only adds rows and is no append: streams pass over it then."""
    said = {"path": "_no_file", "dataChange": True, "extendedFileMetadata": False}
    return said | {"deletionTimestamp": _now_ms()}


def _now_ms() -> int:
    return int(time.time() * 1000)
