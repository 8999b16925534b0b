"""Unjudged: the batches whose rows have not passed the critical checks yet, of this run and of
earlier ones.

A verdict is about all of them. If only this run's batches were judged, a run that reads nothing
would pass what failed before.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.audit.groups import Grouped
from spark_jobs.checkpoint.notes.cursor import Cursor
from spark_jobs.checkpoint.run import Run
from spark_jobs.messages.report import OF_BATCHES, Account
from spark_jobs.ops import accounts

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row

COLUMNS = ("batch_id", "state_rows", "groups_in", "groups_out", "rules", *OF_BATCHES)


class Unjudged(NamedTuple):
    """The account that the checks judge."""

    batches: tuple[int, ...] = ()
    """Their ids."""
    account: Account = Account()
    """The sum over them."""
    state_rows_before: int = 0
    """Rows in all state stores after the last batch that passed; 0 if none has."""
    grouped: Grouped | None = None
    """The sum over them; None if one is not known."""
    rules: Mapping[str, int] = MappingProxyType({})
    """Rule -> the records that fail it; the sum over them."""


def unjudged(run: Run, cursor: Cursor) -> Unjudged:
    """The batches after the cursor's `judged`, up to its `audited`, from their rows in
    ops.batches.

    Raises CheckpointBroken unless each has its row.
    """
    rows = accounts.since_judged(run.paths, run.identity, cursor, COLUMNS)
    passed = [row for row in rows if row["batch_id"] == cursor.judged]
    waiting = [row for row in rows if row["batch_id"] > cursor.judged]
    return Unjudged(
        batches=tuple(row["batch_id"] for row in waiting),
        account=sum(map(Account.of_row, waiting), Account()),
        state_rows_before=(passed[0]["state_rows"] or 0) if passed else 0,
        grouped=_grouped(waiting),
        rules=accounts.failing_rules(row["rules"] for row in waiting),
    )


def _grouped(rows: list[Row]) -> Grouped | None:
    entered, written = ([row[name] for row in rows] for name in ("groups_in", "groups_out"))
    known = [count for count in (*entered, *written) if count is not None]
    if len(known) < 2 * len(rows):
        return None
    return Grouped(sum(known[: len(rows)]), sum(known[len(rows) :]))
