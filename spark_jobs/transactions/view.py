"""View: what is looked at to find where a run ends: the transaction topic, and the changes that
wait. Kafka has both.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple, Protocol

from spark_jobs.errors import TopicMissing, TransactionsUnusable
from spark_jobs.source.between import between
from spark_jobs.source.topic_state import topic_state
from spark_jobs.transactions.cut import Change
from spark_jobs.transactions.marks import Mark, block, mark
from spark_jobs.values.numbering import by_input, numbered_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.micro_batch import Offset
    from spark_jobs.spec import Topic


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
        return Told(state.id, state.earliest[0], state.latest[0])

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
