"""Part: the base of what is written as JSON for other programs, and the parts that reports, events
and accounts of transactions share.

Records are held back behind an open transaction: of Kafka, which hides them from a read_committed
consumer until it ends, or of the source (publish_at). A producer that died holds a partition for up
to transaction.timeout.ms, or longer; a connector, until it is there again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field as Described

from spark_jobs.values import path as paths
from spark_jobs.values.own_columns import is_own
from spark_jobs.values.path import MOST, snake

if TYPE_CHECKING:
    from collections.abc import Collection


class Part(BaseModel):
    """A part of the report. A field that a newer Sluice added is ignored, as in stored.py, so that
    one can go back a release. mypy holds the fields that are set here (init_forbid_extra).
    """

    model_config = ConfigDict(frozen=True, extra="ignore")


class UpTo(Part):
    """An end, as another topic tells it."""

    topic: str = Described(description="that topic")
    offset: int = Described(description="its offset there")
    id: str = Described(description="its id")


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


JSON_TEXT: Final = ("string", "json")
WRITTEN: Final = {
    frozenset((kind,)): (kind, None)
    for kind in ("boolean", "bigint", "double", "string", "timestamp", "date")
} | {
    frozenset(("bigint", "double")): ("double", None),
    frozenset(("string", "timestamp")): ("string", None),
    frozenset(("string", "date")): ("string", None),
    frozenset(("timestamp", "date")): ("string", None),
}
"""Kinds of the values that were seen -> a field's type and format. Any others are JSON as text."""


_NAME: Final = re.compile(r"[A-Za-z_@$][A-Za-z0-9_.$-]{0,39}")
_DATA: Final = re.compile(r"[0-9a-fA-F-]{8,}|.*[0-9]{6}.*")
"""Keys that are data: ids, card numbers."""
FEWEST: Final = 10
"""Of fewer records nobody can say that most have a key."""


class NewKey(Part):
    """One of them."""

    path: str = Described(description="where it is in the row, as a field's path")
    kinds: tuple[str, ...] = Described(description="of its values, in the records looked at")
    records: int = Described(description="records with it, of those looked at")
    looked_at: int = Described(description="records that the run looked at")
    partition: int = Described(description="partition of the first of these")
    offset: int = Described(description="its offset")
    place: str = Described(default="", description="the partition's name")

    @property
    def line(self) -> str:
        """What a person is told. The name is quoted: a producer may choose any."""
        first = f"partition {self.place or self.partition}, offset {self.offset:,}"
        return (
            f"no field names the key {self.path!r}, which {self.records:,} of {self.looked_at:,} "
            f"records have that were looked at (first: {first})"
        )

    @property
    def is_a_name(self) -> bool:
        """Whether a producer has named something by it: not if the key is itself data of a person.
        Most records have a name, and few the same address.
        """
        key = str(paths.parsed(self.path)[-1])
        plain = _NAME.fullmatch(key) and not _DATA.fullmatch(key)
        return bool(plain) and self.looked_at >= FEWEST and 2 * self.records >= self.looked_at

    def name(self, taken: Collection[str]) -> str:
        """What its field could be called: none of these."""
        plain = snake(paths.parsed(self.path))[: MOST - 4] or "key"
        names = (plain, *(f"{plain}_{number}" for number in range(2, len(taken) + 3)))
        return next(each for each in names if each not in taken and not is_own(each))

    def attributes(self, name: str) -> dict[str, Any] | None:
        """Attributes of the field that declares it; None if none can."""
        path = paths.parsed(self.path)
        if not paths.readable(path):
            return None
        type_, format_ = WRITTEN.get(frozenset(self.kinds) - {"null"}, JSON_TEXT)
        where = {} if path == (name,) else {"path": self.path}
        written = {"format": format_} if format_ else {}
        return {"name": name, "type": type_, **where, **written, "required": False}

    def declaration(self, name: str) -> str:
        """The line that declares it, as Python; empty if no field can."""
        given = self.attributes(name)
        told = ", ".join(f"{key}={value!r}" for key, value in (given or {}).items())
        return f"Field({told})," if given else ""
