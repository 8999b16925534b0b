"""History: the commits of batches in the table's history, found by the note in each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING

from spark_jobs.table.entry import Entry

if TYPE_CHECKING:
    from spark_jobs.table.port import Table

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


def commits(table: Table, owners: Collection[str]) -> Iterator[tuple[int, Entry]]:
    """Batch id and entry of each commit of `owners` (pipeline/generation), newest
    first.

    Commits that a rewind took back are passed over: their batch ids are used again.
    """
    for entry in ours(table):
        note = entry.note
        if note.get("sluice") in owners:
            yield note["batch"], entry


def restores_since(table: Table, since: int) -> bool:
    """Whether a person has restored the table after the version `since`."""
    newer = takewhile(lambda entry: entry.version > since, table.history())
    return bool(foreign(newer, since))


def stands(table: Table, version: int) -> bool:
    """Whether no rewind took back what this version wrote."""
    for entry in ours(table):
        if entry.version <= version:
            return entry.version == version
    return True  # the log was cleaned up


def ours(table: Table) -> Iterator[Entry]:
    """The entries that no later rewind took back, newest first.

    A person's RESTORE takes nothing back: it changes rows. What it did is told by sink/restored.py,
    and until it is mended, the facts beside the table are those of before.
    """
    newer = Entry(-1)
    restored = None
    for entry in table.history():
        foreign = is_foreign(entry, newer)
        if restored is None or entry.version <= restored:
            yield entry._replace(does="rows") if foreign else entry
            if entry.does == "restore" and not foreign:
                restored = entry.to
        newer = entry


def changes_rows(entry: Entry) -> bool:
    """Whether the entry may have changed a row that consumers see."""
    return entry.does != "nothing" and FORGOT not in entry.said


def is_foreign(entry: Entry, newer: Entry) -> bool:
    """Whether the entry is a person's RESTORE; `newer` is the one behind it.

    A rewind's has the id of its change. A Sluice without a journal left none, and gave the
    table to the next generation in the commit behind it.
    """
    if entry.does != "restore" or CHANGE in entry.said:
        return False
    return not newer.marks or MARK in newer.said


def foreign(log: Iterable[Entry], since: int) -> list[int]:
    """The versions after `since` that are a person's RESTOREs, of entries newest first."""
    entries = [Entry(-1), *log]
    return [
        entry.version
        for newer, entry in pairwise(entries)
        if entry.version > since and is_foreign(entry, newer)
    ]


def repair_version(table: Table, repair_id: str, since: int) -> int | None:
    """The version after `since` that swapped this repair in, and that no rewind took back; None
    without one.
    """
    return _said_since(table, REPAIR, repair_id, since)


def change_version(table: Table, change_id: str, since: int) -> int | None:
    """The version after `since` that this change committed, and that no rewind took back; None
    without one.
    """
    return _said_since(table, CHANGE, change_id, since)


def is_switch(entry: Entry) -> bool:
    """Whether a commit of `commits` is an older Sluice's switch."""
    return SWITCH in entry.said


def _said_since(table: Table, word: str, value: str, since: int) -> int | None:
    for entry in ours(table):
        if entry.version <= since:
            return None
        if entry.said.get(word) == value:
            return entry.version
    return None


def version_after(table: Table, owners: Collection[str], batch: int) -> int:
    """The newest version of the table with the rows after that batch: of its commit, or of the last
    batch before it; 0 without one. `owners`: of all generations that the checkpoint has had.

    It may be one that only joined files or forgot deletes: VACUUM removes those of the batch's own
    version first.
    Commits that a rewind took back are passed over: an abandoned generation had the same batches.
    """
    same = None
    for entry in ours(table):
        version = entry.version
        note = entry.note
        if note.get("sluice") in owners and note["batch"] <= batch:
            return version if same is None else same
        if entry.does != "restore" and changes_rows(entry):
            same = None
        elif same is None:
            same = version
    return 0


def kept_since(table: Table, version: int) -> int:
    """The newest version up to this one whose rows no RESTORE since has taken back; -1 if the log
    does not tell.
    """
    kept = version
    for entry in table.history():
        if entry.version <= version:
            return kept
        if entry.does == "restore":
            kept = min(kept, -1 if entry.to is None else entry.to)
    return -1


def somebody_else_wrote(table: Table, since: int, version: int) -> bool:
    """Whether a version after `since`, up to `version`, changed rows and is not the commit of a
    batch.
    """
    for entry in table.history():
        if entry.version <= since:
            return False
        if entry.version <= version and "sluice" not in entry.note and changes_rows(entry):
            return True
    return True  # the log was cleaned up: nobody knows


def rows_changed(table: Table, since: int, version: int) -> bool:
    """Whether a version after `since`, up to `version`, may have changed a row: one that joined or
    removed files has not.
    """
    for entry in table.history():
        if entry.version <= since:
            return False
        if entry.version <= version and changes_rows(entry):
            return True
    return True  # the log was cleaned up: nobody knows


def read_at(table: Table, time: datetime) -> int | None:
    """The version with the rows that the table had at this time, before any OPTIMIZE after them;
    None if the log begins later.
    """
    for entry in table.history():
        if entry.at is not None and entry.at <= time and changes_rows(entry):
            return entry.version
    return None


def newest_at(table: Table, time: datetime) -> int | None:
    """The table's newest version at this time; None if the log begins later."""
    for entry in table.history():
        if entry.at is not None and entry.at <= time:
            return entry.version
    return None


def committed_at(table: Table, version: int) -> datetime | None:
    """When that version was committed; None if the log no longer has it."""
    for entry in table.history():
        if entry.version <= version:
            return entry.at if entry.version == version else None
    return None
