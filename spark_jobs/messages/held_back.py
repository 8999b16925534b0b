"""Held back: records that wait behind an open transaction: of Kafka, which hides them from a
read_committed consumer until it ends, or of the source (publish_at). A producer that died holds a
partition for up to transaction.timeout.ms, or longer; a connector, until it is there again.
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
    first: int | None = Described(
        default=None, description="that record's offset; null if an older Sluice wrote it"
    )
    transaction: str = Described(default="", description="of the source; empty of Kafka's")


def held_back_line(partition: str | int, held: HeldBack) -> str:
    """For a reader.

    >>> held_back_line(3, HeldBack(offsets=1200, since=None))
    'partition 3: 1,200 offsets wait behind an open transaction, of unknown age'
    >>> held_back_line(3, HeldBack(offsets=7, since=None, transaction="571"))
    "partition 3: 7 offsets wait behind the source's transaction 571, of unknown age"
    """
    since = f"since {held.since:%F %H:%M:%S}" if held.since else "of unknown age"
    age = f"open {since}" if held.since else since
    where = f"partition {held.place or partition}"
    what = (
        f"the source's transaction {held.transaction}"
        if held.transaction
        else "an open transaction"
    )
    return f"{where}: {held.offsets:,} offsets wait behind {what}, {age}"


def held_back_lines(held: Mapping[str, HeldBack]) -> tuple[str, ...]:
    """One line for each partition, in this order, and what to do; none without any."""
    if not held:
        return ()
    lines = (held_back_line(partition, waits) for partition, waits in held.items())
    if all(waits.transaction for waits in held.values()):
        return (*lines,)
    return (
        *lines,
        "no drain reads these offsets until that transaction ends. One that stays open is of a "
        "producer that died: `kafka-transactions.sh find-hanging` and `abort` end it",
    )
