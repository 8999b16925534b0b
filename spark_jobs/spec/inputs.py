"""Inputs: what a pipeline reads, by number, and what its steps get of all of them as one record."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from typing import Final, Self

from spark_jobs.spec.checks.rule import Rule
from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.topic import Topic
from spark_jobs.values.numbering import PARTITIONS, input_of, numbered_in, own_of

COLUMN: Final = "topic"
"""The column with a record's topic, where there are several."""
_RANGE: Final = re.compile(
    r"(?P<partition>[^:]+):(?P<first>\d+)(?:-(?P<last>\d+)|:(?P<element>\d+))?"
)
BETWEEN: Final = ", "
"""What is between their names, which no name has."""


class Topics(tuple[Topic, ...]):
    """The inputs of a pipeline: one, for most. Each has a source, a format and a watermark of its
    own, and its own account.
    """

    named: bool
    """Whether they are declared as several, if only one of them is there: a record has COLUMN, and
    a partition is told with its topic's name.
    """

    def __new__(cls, of: Iterable[Topic], *, named: bool = False) -> Self:
        made = super().__new__(cls, of)
        made.named = named
        return made

    @property
    def several(self) -> bool:
        """Whether there are two at least."""
        return len(self) > 1

    @property
    def name(self) -> str:
        """Their names, for a reader."""
        return BETWEEN.join(each.name for each in self)

    def told(self, brokers: str) -> str:
        """Where their records are, for a reader."""
        return f"topic {self.name} on {brokers}" if self.several else self[0].told(brokers)

    @property
    def of_kafka(self) -> bool:
        """Whether brokers are asked for the records of any."""
        return any(each.of_kafka for each in self)

    @property
    def cluster(self) -> str:
        """The Kafka cluster of all; empty for the usual one."""
        return self[0].cluster

    @property
    def event_time(self) -> str:
        """The column with a record's event time, which has one name in all."""
        return self[0].event_time

    @property
    def fields(self) -> tuple[Field, ...]:
        """Those of a record as the steps get it: of named inputs what the fields of all have in
        common, null in the records of an input without one, and COLUMN.
        """
        if not self.named:
            return self[0].fields
        found: defaultdict[str, list[Field]] = defaultdict(list)
        for field in (field for each in self for field in each.fields):
            found[field.name].append(field)
        made = (
            Field(
                name=name,
                type=of[0].type,
                required=len(of) == len(self) and all(field.required for field in of),
                about=of[0].about,
                personal=any(field.personal for field in of),
            )
            for name, of in found.items()
        )
        return (*made, Field(name=COLUMN, type="string", about="the record's topic"))

    @property
    def types(self) -> dict[str, str]:
        """Column of a record as the steps get it -> its Spark SQL type."""
        return {field.name: field.type for field in self.fields}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a record as the steps get it, in order."""
        return tuple(self.types)

    @property
    def personal(self) -> frozenset[str]:
        """The columns that tell of persons."""
        return frozenset(field.name for field in self.fields if field.personal)

    @property
    def max_ahead(self) -> timedelta:
        """The most that any allows."""
        return max(each.max_ahead for each in self)

    @property
    def reads_headers(self) -> bool:
        """Whether a record's headers say anything."""
        return any(each.reads_headers for each in self)

    @property
    def asks(self) -> tuple[str, ...]:
        """What asks registries for schemas of their records, each module once."""
        formats = (each for topic in self for each in topic.registered.values())
        return tuple(dict.fromkeys(each.asks for each in formats))

    @property
    def drops_tombstones(self) -> bool:
        """Whether a good record may have no event time: a tombstone that its topic drops, a value
        whose list is empty.
        """
        return any(each.tombstones == "dropped" or each.each for each in self)

    @property
    def spread(self) -> bool:
        """Whether a value has many records."""
        return any(each.each for each in self)

    @property
    def drops_by_rule(self) -> bool:
        """Whether a rule leaves records out before the first step."""
        return any(rule.on_failure == "drop" for each in self for rule in each.rules)

    @property
    def drops_some(self) -> bool:
        """Whether some good records are left out before the first step."""
        return self.drops_tombstones or self.drops_by_rule

    @property
    def rules(self) -> tuple[dict[str, Rule], ...]:
        """Of each input its rules, by the names under which they are counted: of named inputs
        `orders_us/positive`.
        """
        return tuple(
            {f"{each.name}/{rule.name}" if self.named else rule.name: rule for rule in each.rules}
            for each in self
        )

    def of_partition(self, partition: int) -> Topic:
        """The input that a partition is of."""
        number = input_of(partition)
        # An ops table may have records of a topic that was there before a reset.
        return self[number if number < len(self) else 0]

    def shown(self, partition: int) -> str:
        """A partition as people know it: its source's number; of named inputs `orders_us/3`."""
        if not self.named:
            return str(partition)
        number, own = input_of(partition), own_of(partition)
        name = self[number].name if number < len(self) else f"topic {number + 1}"
        return f"{name}/{own}"

    def number_of(self, shown: str) -> int | None:
        """The way back; None if it is no partition of these inputs."""
        if not self.named:
            return int(shown) if shown.isdecimal() else None
        name, _, own = shown.rpartition("/")
        numbers = {each.name: number for number, each in enumerate(self)}
        known = name in numbers and own.isdecimal() and int(own) < PARTITIONS
        return numbered_in(numbers[name], int(own)) if known else None

    def of_place(self, place: str) -> Topic:
        """The input that is this topic, of which it has one."""
        return next(each for each in self if each.place == place)

    def range_of(self, shown: str) -> tuple[int, int, int, int | None] | None:
        """Partition, first and last offset, and element of a text as a person types it: "3:120",
        "3:120-140"; where a value has many records, "3:120:7". None if it is no place of these
        inputs.
        """
        if (found := _RANGE.fullmatch(shown)) is None:
            return None
        if (partition := self.number_of(found["partition"])) is None:
            return None
        if (element := found["element"]) is not None and not self.spread:
            return None
        number = None if element is None else int(element)
        return partition, int(found["first"]), int(found["last"] or found["first"]), number
