"""The account of a run as bars, from offsets to rows."""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.messages.report import Account
from spark_jobs.pages.bars import LEAST, WIDTH


class Step(NamedTuple):
    """One line of the account, as a bar between two places of a line of WIDTH."""

    name: str
    records: int | None
    """None if not known."""
    x: float
    width: float
    kind: str


def flow(account: Account) -> list[Step]:
    """From offsets to rows: what is left at each stage, and what went where in between.

    A stage begins at the left; what leaves it is at the right, where the next stage ends.
    """
    whole = max(account.covered, account.rows_out, 1)
    leaves = {
        "covered": ("gaps", "unknown"),
        "read": ("malformed", "premature", "filtered", "late"),
        "accepted": ("duplicates",),
    }
    steps = []
    for stage, losses in leaves.items():
        at = getattr(account, stage)
        steps.append(_step(stage, at, 0, whole, "stage"))
        for name in losses:
            count = getattr(account, name)
            at -= count or 0  # what is not known takes no room
            if count != 0:
                steps.append(_step(name, count, max(at, 0), whole, name))
    steps.append(_step("rows_out", account.rows_out, 0, whole, "stage"))
    steps.append(_step("unaccounted", account.unaccounted, 0, whole, "unaccounted"))
    return steps


def _step(name: str, records: int | None, start: int, whole: int, kind: str) -> Step:
    count = 0 if records is None else records
    width = WIDTH * min(count, whole) / whole
    return Step(
        name,
        records,
        round(WIDTH * start / whole, 2),
        round(max(width, LEAST * (count > 0)), 2),
        kind,
    )
