"""Commit: the whole content of a table replaced by other files, in one entry of its log.

The table keeps its path and Delta's id, so consumers keep theirs; columns may change. No row is
read or written: the files are there already.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.errors import RebuildRefused
from spark_jobs.sink import history
from spark_jobs.sink.history import GENERATION
from spark_jobs.storage.delta_log import Action, Log, Replay, file_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from upath import UPath

    from spark_jobs.checkpoint.notes.switching import Switching

HARMLESS = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "deletionVectors",
        "invariants",
        "timestampNtz",
        "vacuumProtocolCheck",
    }
)
"""Features of Delta tables that an entry of files and columns need not know of. Of the first, and
of constraints, only while the table sets none.
"""
CONSTRAINTS = "delta.constraints."
APPEND_ONLY = "delta.appendOnly"
MAPPED = 2
"""The reader version of a table with column mapping, before features had names."""


class Content(NamedTuple):
    """What the table is to have."""

    files: list[Action]
    """Its files, as adds."""
    metadata: Action
    """Its columns are taken from there, and nothing else."""


def content(table: UPath, version: int) -> Content:
    """What a table has at this version. Raises RebuildRefused if its log has that no longer."""
    try:
        made = Log.of(table).replay(version)
    except LookupError as error:
        raise RebuildRefused(
            f"version {version} of {table} cannot be read any more: {error.args[0]}.",
            "Rebuild it from Kafka.",
        ) from None
    assert made.metadata is not None  # a table has its metadata from its first entry on
    return Content(list(made.added.values()), made.metadata)


def refuse_table(table: UPath, wanted: Content) -> None:
    """Raise RebuildRefused for a table of which only Spark knows how its content is replaced."""
    log = Log.of(table)
    now = log.replay(log.newest)
    protocol, properties = now.protocol or {}, (now.metadata or {}).get("configuration", {})
    named = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
    wrong = sorted(named - HARMLESS)
    wrong += [name for name in properties if name.startswith(CONSTRAINTS)]
    wrong += [APPEND_ONLY] if properties.get(APPEND_ONLY) == "true" else []
    wrong += ["columnMapping"] if protocol.get("minReaderVersion") == MAPPED else []
    if any(file.get("deletionVector") for file in wanted.files) and "deletionVectors" not in named:
        wrong.append("deletion vectors in the rows that are to come, and none allowed")
    if wrong:
        raise RebuildRefused(
            f"{table} has {', '.join(wrong)}, and a switch replaces its content without Spark.",
            "Remove that from the table (ALTER TABLE ... DROP FEATURE, DROP CONSTRAINT or UNSET "
            "TBLPROPERTIES).",
        )


def replace_content(
    table: UPath, note: Switching, wanted: Content, owner: str, confirm: Callable[[], None]
) -> int:
    """Commit it, unless this switch has; the table's version that has it. The lease is held.

    `owner`: application id of the transactions of the checkpoint that becomes live, whose newest
    batch the table has from there on.
    """
    while True:
        made = history.switch_version(table, note.switch_id, note.table_version)
        if made is not None:
            return made
        log = Log.of(table)
        now = log.replay(log.newest)
        confirm()
        log.put(log.newest + 1, [*_actions(now, note, wanted, owner)])


def _actions(now: Replay, note: Switching, wanted: Content, owner: str) -> Iterator[Action]:
    said = {"sluice": owner, "batch": note.batch, history.SWITCH: note.switch_id}
    stamp = int(time.time() * 1000)
    gone = [file for key, file in now.added.items() if key not in _keys(wanted)]
    come = [file for file in wanted.files if file_key(file) not in now.added]
    yield {
        "commitInfo": {
            "timestamp": stamp,
            "operation": "SLUICE SWITCH",
            "operationParameters": {"stateVersion": json.dumps(note.version)},
            "isBlindAppend": False,
            "engineInfo": "sluice",
            "userMetadata": json.dumps(said),
        }
    }
    assert now.metadata is not None
    yield {
        "metaData": now.metadata
        | {
            "schemaString": wanted.metadata["schemaString"],
            "configuration": now.metadata.get("configuration", {})
            | {GENERATION: note.next_generation},
        }
    }
    yield {"txn": {"appId": owner, "version": note.batch, "lastUpdated": stamp}}
    for file in gone:
        kept = {name: file[name] for name in _REMOVED if file.get(name) is not None}
        dated = {"deletionTimestamp": stamp, "dataChange": True, "extendedFileMetadata": True}
        yield {"remove": kept | dated}
    for file in come:
        yield {
            "add": {n: file[n] for n in _ADDED if file.get(n) is not None} | {"dataChange": True}
        }


_REMOVED = ("path", "partitionValues", "size", "deletionVector")
_ADDED = (*_REMOVED, "modificationTime", "stats")


def _keys(wanted: Content) -> set[str]:
    return {file_key(file) for file in wanted.files}
