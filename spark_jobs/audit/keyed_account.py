"""Keyed account: the account of a batch of changes, held against the table's log.

The sink counts what becomes of each change when it has compared it with the table before
(sink/keyed/fates.py). Spark counts the changes. Delta counts the rows that the commit wrote; and
the statistics of the table's files say by how many rows it has grown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.messages.report import Account
from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.sink.keyed.standing import gained

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.sink.writer import Written


class Keyed(NamedTuple):
    """What three of them say of a batch."""

    fates: Fates
    written: int
    """Rows, by the metrics of the commit."""
    gained: int | None
    """Rows that are no deletes, by the statistics of the files; None if the log has none."""


def keyed(table: UPath, written: Written | None) -> Keyed:
    """Of the batch's commit; a batch without changes has none."""
    if written is None:
        return Keyed(Fates(), 0, 0)
    return Keyed(written.fates or Fates(), written.rows, gained(table, written.version))


def by_key(account: Account, keyed: Keyed) -> Account:
    """The account with what became of the accepted changes, and with both differences."""
    fates = keyed.fates
    found = (account.unaccounted or 0) + abs(fates.written - keyed.written)
    if keyed.gained is not None:
        found += abs(fates.gained - keyed.gained)
    counts = fates._asdict()
    for part in ("moved", "ending", "ended", "behind"):
        del counts[part]
    rows = {"rows_out": fates.inserted + fates.updated, "unaccounted": found}
    return account.model_copy(update=counts | rows)
