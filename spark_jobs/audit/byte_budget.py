"""Byte budget: how many bytes of one batch's quarantined records are kept. A flood of malformed
records would else be stored a second time, without end.

A record beyond it has its row with place, kind and reason, so that the account and every repair
know it; its key, value and headers are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from spark_jobs.ops.schema import Row

RAW = ("key", "value", "headers")
MEGABYTE = 1_000_000
MOST_REASON = 300
"""Characters that such a record's reason has: a decoder's may repeat a value, of any length."""


class Share(NamedTuple):
    """What one of several tasks may keep. Goes to the executors."""

    bytes: int

    @classmethod
    def of(cls, megabytes: str, tasks: int) -> Share:
        """The share of one task in so many megabytes of a batch."""
        return cls(int(megabytes) * MEGABYTE // max(1, tasks))


class ByteBudget:
    """The budget of one task: rows of ops.quarantine, one after the other."""

    def __init__(self, share: Share) -> None:
        self._left = share.bytes

    def row(self, row: Row) -> Row:
        """The row, without its bytes if they are beyond the budget. A smaller one that comes later
        may still fit.
        """
        parts = [row["key"], row["value"]]
        for each in row["headers"] or ():
            parts += [each["key"], each["value"]]  # a name has few letters beyond ASCII
        size = sum(len(part or b"") for part in parts)
        if size <= self._left:
            self._left -= size
            return row
        reason = f"{row['reason'][:MOST_REASON]} (its {size:,} bytes are not kept)"
        return row | {"left_out": size, "reason": reason} | dict.fromkeys(RAW)
