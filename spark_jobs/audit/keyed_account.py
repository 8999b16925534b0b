"""Keyed account: the account of a batch of changes, held against the table's log.

The sink counts what becomes of each change when it has compared it with the table before
(sink/keyed/fates.py). Spark counts the changes. Delta counts the rows that the commit wrote; the
statistics of the table's files say by how many rows it has grown, and its change feed which rows
have other contents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.audit.changed_contents import changed_contents
from spark_jobs.messages.report import Account
from spark_jobs.sink.keyed.fates import Fates
from spark_jobs.sink.keyed.standing import gained

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.sink.writer import Written
    from spark_jobs.spec.steps.following import Following


class Keyed(NamedTuple):
    """What three of them say of a batch."""

    fates: Fates
    written: int
    """Rows, by the metrics of the commit."""
    gained: int | None
    """Rows that are no deletes, by the statistics of the files; None if the log has none."""
    changed: int | None = None
    """Rows with other contents, by the change feed, where copies were written; None if it was not
    read.
    """


def keyed(table: UPath, written: Written | None, step: Following) -> Keyed:
    """Of the batch's commit; a batch without changes has none."""
    if written is None:
        return Keyed(Fates(), 0, 0)
    fates = written.fates or Fates()
    changed = (
        changed_contents(table, written.version, step.row_key, step.spans) if fates.moved else None
    )
    return Keyed(fates, written.rows, gained(table, written.version), changed)


def by_key(account: Account, keyed: Keyed) -> Account:
    """The account with what became of the accepted changes, and with both differences."""
    fates = keyed.fates
    found = (account.unaccounted or 0) + abs(fates.written - keyed.written)
    if keyed.gained is not None:
        found += abs(fates.gained - keyed.gained)
    if keyed.changed is not None:  # an update may set what was there
        found += max(0, keyed.changed - fates.updated - fates.ended)
    counts = fates._asdict()
    for part in ("moved", "ending", "ended", "behind"):
        del counts[part]
    rows = {"rows_out": fates.inserted + fates.updated, "unaccounted": found}
    return account.model_copy(update=counts | rows)
