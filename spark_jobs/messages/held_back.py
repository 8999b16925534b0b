"""Held back: records that wait behind an open transaction. A read_committed consumer sees none
behind its first record until it ends: a producer that died holds a partition for up to
transaction.timeout.ms, or longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pydantic import Field as Described

from spark_jobs.messages.part import Part


class HeldBack(Part):
    """What of one partition waits."""

    offsets: int = Described(
        description="offsets from the first record of an open transaction to the partition's end"
    )
    since: datetime | None = Described(
        description="the Kafka timestamp of that record; null if it is not known"
    )
    place: str = Described(default="", description="the partition's name")


def held_back_line(partition: str | int, held: HeldBack) -> str:
    """For a reader.

    >>> held_back_line(3, HeldBack(offsets=1200, since=None))
    'partition 3: 1,200 offsets wait behind an open transaction, of unknown age'
    """
    since = f"since {held.since:%F %H:%M:%S}" if held.since else "of unknown age"
    age = f"open {since}" if held.since else since
    where = f"partition {held.place or partition}"
    return f"{where}: {held.offsets:,} offsets wait behind an open transaction, {age}"


def held_back_lines(held: Mapping[str, HeldBack]) -> tuple[str, ...]:
    """One line for each partition, in this order, and what to do; none without any."""
    if not held:
        return ()
    return (
        *(held_back_line(partition, waits) for partition, waits in held.items()),
        "no drain reads these offsets until that transaction ends. One that stays open is of a "
        "producer that died: `kafka-transactions.sh find-hanging` and `abort` end it",
    )
