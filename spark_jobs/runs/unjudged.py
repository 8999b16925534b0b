"""Unjudged: the batches whose rows have not passed the critical checks yet, of this run and of
earlier ones.

A verdict is about all of them. If only this run's batches were judged, a run that reads nothing
would pass what failed before.
"""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.checkpoint.cursor import Cursor
from spark_jobs.contract.report import Account
from spark_jobs.ops import ops_tables
from spark_jobs.run import Run

COUNTS = tuple(Account.model_fields)


class Unjudged(NamedTuple):
    """The account that the checks judge."""

    batches: tuple[int, ...] = ()
    """Their ids."""
    account: Account = Account()
    """The sum over them."""
    state_rows_before: int = 0
    """Rows in all state stores after the last batch that passed; 0 if none has."""


def unjudged(run: Run, cursor: Cursor) -> Unjudged:
    """The batches after the cursor's `judged`, up to its `audited`, from their rows in
    ops.batches.
    """
    generations = ", ".join(f"'{each}'" for each in run.identity.generations)
    rows = ops_tables.query(
        run.paths.root,
        "batches",
        f"SELECT batch_id, state_rows, {', '.join(COUNTS)} FROM batches "
        f"WHERE pipeline = '{run.spec.name}' AND generation IN ({generations}) "
        f"AND batch_id BETWEEN {cursor.judged} AND {cursor.audited} ORDER BY batch_id",
    ).to_pylist()
    passed = [row for row in rows if row["batch_id"] == cursor.judged]
    waiting = [row for row in rows if row["batch_id"] > cursor.judged]
    return Unjudged(
        batches=tuple(row["batch_id"] for row in waiting),
        account=sum(
            (Account(**{name: row[name] for name in COUNTS}) for row in waiting), Account()
        ),
        state_rows_before=(passed[0]["state_rows"] or 0) if passed else 0,
    )
