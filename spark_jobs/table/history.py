"""History: the commits of batches in the table's history, found by the note in each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.table.delta.log_entries import Entry, entries
from spark_jobs.table.port import Note
from spark_jobs.times import at_milliseconds

if TYPE_CHECKING:
    from upath import UPath

NO_ROWS = frozenset({"OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "ADD FEATURE"})
"""Delta's operations that change no row."""
RESTORE = "RESTORE"
FOREIGN = "RESTORE by a person"
"""The operation of a RESTORE that no rewind made, as `ours` names it."""
GENERATION = "sluice.generation"
"""The property of a table that names the generation of its checkpoint."""
REPAIR = "sluice_repair"
"""The word under which the commit of a swap has its repair's id. It is not a batch's word."""
PASSED = "sluice_passed"
"""The word under which such a commit has the newest version of which all rows had passed."""
SWITCH = "sluice_switch"
"""The word of an older Sluice's switch, which put the rows of all batches into one commit."""
CHANGE = "sluice_change"
"""The word under which a commit has the id of the change (journal/) that made it."""
MARK = "sluice_mark"
"""Likewise one that only gives the table to a generation."""
FORGOT = "sluice_forgot"
"""The word of a commit that removed deletes from a table that follows a key: no row of it."""


def commits(path: UPath, owners: Collection[str]) -> Iterator[tuple[int, Entry]]:
    """Batch id and Delta's history entry of each commit of `owners` (pipeline/generation), newest
    first.

    Commits that a rewind took back are passed over: their batch ids are used again.
    """
    for entry in ours(path):
        note = note_of(entry)
        if note.get("sluice") in owners:
            yield note["batch"], entry


def stands(path: UPath, version: int) -> bool:
    """Whether no rewind took back what this version wrote."""
    for entry in ours(path):
        if int(entry["version"]) <= version:
            return int(entry["version"]) == version
    return True  # the log was cleaned up


def ours(path: UPath) -> Iterator[Entry]:
    """The entries that no later rewind took back, newest first.

    A person's RESTORE takes nothing back: it is FOREIGN. What it did is told by restored.py, and
    until it is mended, the facts beside the table are those of before.
    """
    newer: Entry = {"operation": ""}
    restored = None
    for entry in entries(path):
        foreign = is_foreign(entry, newer)
        if restored is None or int(entry["version"]) <= restored:
            yield entry | {"operation": FOREIGN} if foreign else entry
            if entry["operation"] == RESTORE and not foreign:
                restored = restored_version(entry)
        newer = entry


def changes_rows(entry: Entry) -> bool:
    """Whether the entry may have changed a row that consumers see."""
    return entry["operation"] not in NO_ROWS and FORGOT not in said_by(entry)


def is_foreign(entry: Entry, newer: Entry) -> bool:
    """Whether the entry is a person's RESTORE; `newer` is the one behind it.

    A rewind's has the id of its change. That of a Sluice without a journal has none, and gives the
    table to the next generation in the commit behind it.
    """
    if entry["operation"] != RESTORE or CHANGE in said_by(entry):
        return False
    return not is_mark(newer) or MARK in said_by(newer)


def is_mark(entry: Entry) -> bool:
    """Whether the entry gives the table to a generation."""
    properties = entry.get("operationParameters", {}).get("properties", "")
    return entry["operation"] == "SET TBLPROPERTIES" and GENERATION in str(properties)


def restored_version(entry: Entry) -> int | None:
    """The version that a RESTORE names; None if it names a time."""
    to = entry.get("operationParameters", {}).get("version")
    return int(to) if to is not None else None


def repair_version(path: UPath, repair_id: str, since: int) -> int | None:
    """The version after `since` that swapped this repair in, and that no rewind took back; None
    without one.
    """
    return _said_since(path, REPAIR, repair_id, since)


def change_version(path: UPath, change_id: str, since: int) -> int | None:
    """The version after `since` that this change committed, and that no rewind took back; None
    without one.
    """
    return _said_since(path, CHANGE, change_id, since)


def is_switch(entry: Entry) -> bool:
    """Whether a commit of `commits` is an older Sluice's switch."""
    return SWITCH in said_by(entry)


def _said_since(path: UPath, word: str, value: str, since: int) -> int | None:
    for entry in ours(path):
        if int(entry["version"]) <= since:
            return None
        if said_by(entry).get(word) == value:
            return int(entry["version"])
    return None


def version_after(path: UPath, owners: Collection[str], batch: int) -> int:
    """The newest version of the table with the rows after that batch: of its commit, or of the last
    batch before it; 0 without one. `owners`: of all generations that the checkpoint has had.

    It may be one that only joined files or forgot deletes: VACUUM removes those of the batch's own
    version first.
    Commits that a rewind took back are passed over: an abandoned generation had the same batches.
    """
    same = None
    for entry in ours(path):
        version = int(entry["version"])
        note = note_of(entry)
        if note.get("sluice") in owners and note["batch"] <= batch:
            return version if same is None else same
        if entry["operation"] != RESTORE and changes_rows(entry):
            same = None
        elif same is None:
            same = version
    return 0


def kept_since(path: UPath, version: int) -> int:
    """The newest version up to this one whose rows no RESTORE since has taken back; -1 if the log
    does not tell.
    """
    kept = version
    for entry in entries(path):
        if int(entry["version"]) <= version:
            return kept
        if entry["operation"] == RESTORE:
            to = restored_version(entry)
            kept = min(kept, -1 if to is None else to)
    return -1


def somebody_else_wrote(path: UPath, since: int, version: int) -> bool:
    """Whether a version after `since`, up to `version`, changed rows and is not the commit of a
    batch.
    """
    for entry in entries(path):
        if int(entry["version"]) <= since:
            return False
        if (
            int(entry["version"]) <= version
            and "sluice" not in note_of(entry)
            and changes_rows(entry)
        ):
            return True
    return True  # the log was cleaned up: nobody knows


def rows_changed(path: UPath, since: int, version: int) -> bool:
    """Whether a version after `since`, up to `version`, may have changed a row: one that joined or
    removed files has not.
    """
    for entry in entries(path):
        if int(entry["version"]) <= since:
            return False
        if int(entry["version"]) <= version and changes_rows(entry):
            return True
    return True  # the log was cleaned up: nobody knows


def read_at(path: UPath, time: datetime) -> int | None:
    """The version with the rows that the table had at this time, before any OPTIMIZE after them;
    None if the log begins later.
    """
    for entry in entries(path):
        if _committed_at(entry) <= time and changes_rows(entry):
            return int(entry["version"])
    return None


def newest_at(path: UPath, time: datetime) -> int | None:
    """The table's newest version at this time; None if the log begins later."""
    for entry in entries(path):
        if _committed_at(entry) <= time:
            return int(entry["version"])
    return None


def committed_at(path: UPath, version: int) -> datetime | None:
    """When that version was committed; None if the log no longer has it."""
    for entry in entries(path):
        if int(entry["version"]) <= version:
            return _committed_at(entry) if int(entry["version"]) == version else None
    return None


def _committed_at(entry: Entry) -> datetime:
    return at_milliseconds(entry["timestamp"])


def note_of(entry: Entry) -> Note:
    """Empty for anything that is not a batch of Sluice: a repair says another word."""
    said = said_by(entry)
    owner, batch = said.get("sluice"), said.get("batch")
    if not isinstance(owner, str) or type(batch) is not int:
        return {}
    return {"sluice": owner, "batch": batch}


def said_by(entry: Entry) -> Entry:
    """The userMetadata, if it is an object of JSON: it may have a person's words."""
    try:
        said = json.loads(entry.get("userMetadata") or "{}")
    except (TypeError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}
