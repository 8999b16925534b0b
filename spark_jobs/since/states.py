"""States: what rows a table has had, one after the other, and at which version each can be read."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.table import history

if TYPE_CHECKING:
    from spark_jobs.table.entry import Entry
    from spark_jobs.table.port import Table


class State(NamedTuple):
    """The rows of some versions in a row: those behind the first joined files, or had settings."""

    entry: Entry
    """Of the commit that made the rows."""
    newer: Entry | None
    """Of the one behind it."""
    versions: tuple[int, ...]
    """Ascending; the first is the entry's."""
    read_at: int | None
    """The version at which it is read; None if VACUUM has removed files of each."""

    @property
    def version(self) -> int:
        return self.entry.version


def states(table: Table, first: int, last: int) -> list[State]:
    """Ascending: those that the versions from `first` to `last` have, as far as the log is kept."""
    entries = [*takewhile(lambda entry: entry.version >= first, table.history())]
    entries = [entry for entry in reversed(entries) if entry.version <= last]
    whole = table.whole({entry.version for entry in entries})
    found: list[State] = []
    for number, entry in enumerate(entries):
        newer = entries[number + 1] if number + 1 < len(entries) else None
        if not found or history.changes_rows(entry):
            found.append(State(entry, newer, (), None))
        of = found[-1]
        readable = entry.version if entry.version in whole else of.read_at
        found[-1] = of._replace(versions=(*of.versions, entry.version), read_at=readable)
    return found
