"""View: what is looked at to find where a run ends: the transaction topic, and the changes that
wait. Kafka has both.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

import msgspec

from spark_jobs.errors import TopicMissing, TransactionsUnusable
from spark_jobs.source.consumer import between
from spark_jobs.source.topic_state import topic_state
from spark_jobs.transactions.cut import Change
from spark_jobs.values.numbering import by_input, numbered_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.positions import Offset
    from spark_jobs.spec import Topic

POSTGRES = re.compile(r"(\d+):\d+")
"""Its transaction and a place in its log, which is another one at BEGIN, change and END. Ids of
other databases have colons too, and are the same in all.
"""


class Mark(NamedTuple):
    """A BEGIN or an END."""

    id: str
    offset: int
    millis: int
    collections: Mapping[str, int] | None
    """Of an END: name of a table -> the transaction's changes of it. None of a BEGIN."""


class _Collection(msgspec.Struct):
    data_collection: str
    event_count: int


class _Told(msgspec.Struct):
    status: str = ""
    id: str = ""
    data_collections: list[_Collection] | None = None
    payload: _Told | None = None


class _Block(msgspec.Struct):
    id: str
    data_collection_order: int


class _Change(msgspec.Struct):
    transaction: _Block | None = None
    payload: _Change | None = None


_TOLD = msgspec.json.Decoder(_Told)
_CHANGE = msgspec.json.Decoder(_Change)


def mark(value: bytes | None, offset: int, millis: int) -> Mark | None:
    """Of a record of the transaction topic; None if it is neither."""
    try:
        told = _TOLD.decode(value or b"")
    except (msgspec.DecodeError, RecursionError):
        return None
    told = told.payload or told
    if told.status not in {"BEGIN", "END"}:
        return None
    counts = {each.data_collection: each.event_count for each in told.data_collections or ()}
    return Mark(_id(told.id), offset, millis, counts if told.status == "END" else None)


def block(value: bytes | None) -> tuple[str, int] | None:
    """A change's transaction, and its number among the changes of its table; None without one."""
    try:
        change = _CHANGE.decode(value or b"")
    except (msgspec.DecodeError, RecursionError):
        return None
    found = (change.payload or change).transaction
    return (_id(found.id), found.data_collection_order) if found else None


def counts(collections: Mapping[str, int], told_in: str, topics: Sequence[Topic]) -> dict[int, int]:
    """Number of a topic -> the changes of its tables. Debezium names a topic by its prefix and the
    table; some connectors leave out the database's name.

    >>> from types import SimpleNamespace as Of
    >>> counts({"public.a": 2, "public.b": 1}, "eu.transaction", [Of(name="eu.public.b")])
    {0: 1}
    >>> counts({"ORCL.S.T": 3}, "eu.transaction", [Of(name="eu.S.T"), Of(name="eu.S.U")])
    {0: 3}
    """
    names = tuple(topic.name for topic in topics)
    found = dict[int, int]()
    for table, number in collections.items():
        for place in _places(table, told_in, names):
            found[place] = found.get(place, 0) + number
    return found


@lru_cache(4096)
def _places(table: str, told_in: str, topics: tuple[str, ...]) -> tuple[int, ...]:
    prefix = told_in.rpartition(".")[0] + "."
    name = re.sub(r"[^A-Za-z0-9._-]", "_", table)
    return tuple(
        place
        for place, topic in enumerate(topics)
        if f".{topic}".endswith(f".{name}") or f".{name}".endswith(f".{topic.removeprefix(prefix)}")
    )


def _id(given: str) -> str:
    """
    >>> _id("571:53195829"), _id("24DA-9F:5"), _id("00000025:00000d08:0025")
    ('571', '24DA-9F:5', '00000025:00000d08:0025')
    """
    found = POSTGRES.fullmatch(given)
    return found[1] if found else given


class Told(NamedTuple):
    """The transaction topic, which has one partition."""

    id: str
    """Empty where there is none yet: a connector makes it with its first transaction."""
    earliest: int
    latest: int


class View(Protocol):
    """Raises KafkaUnreachable, KafkaRefused, KafkaConfigInvalid or TransactionsUnusable."""

    def told(self) -> Told:
        """What the transaction topic holds now."""

    def marks(self, first: int, end: int) -> Iterable[Mark]:
        """The BEGINs and ENDs at these offsets, as they come: there may be many."""

    def changes(self, ranges: Mapping[int, Offset]) -> Mapping[int, Sequence[Change]]:
        """Partition -> the changes at these offsets, ascending; the first record of each too, with
        an empty id if it is of no transaction.
        """


class KafkaView(NamedTuple):
    """See View."""

    settings: Settings
    topics: Sequence[Topic]
    """By their numbers."""
    name: str
    """The transaction topic's."""

    def told(self) -> Told:
        try:
            state = topic_state(self.settings, self.name)
        except TopicMissing:
            return Told("", 0, 0)
        if len(state.latest) != 1:
            raise TransactionsUnusable.no_order(topic=self.name, partitions=len(state.latest))
        return Told(state.id, state.earliest.by_partition[0], state.latest.by_partition[0])

    def marks(self, first: int, end: int) -> Iterator[Mark]:
        records = between(self.settings, self.name, {0: (first, end)})
        found = (mark(each.value(), each.offset() or 0, each.timestamp()[1]) for each in records)
        return (each for each in found if each)

    def changes(self, ranges: Mapping[int, Offset]) -> Mapping[int, Sequence[Change]]:
        found = defaultdict[int, list[Change]](list)
        for number, own in by_input(ranges).items():
            for record in between(self.settings, self.topics[number].name, own):
                partition = numbered_in(number, record.partition() or 0)
                told = block(record.value())
                if told or partition not in found:
                    id_, order = told or ("", 0)
                    change = Change(record.offset() or 0, id_, order, record.timestamp()[1])
                    found[partition].append(change)
        return found
