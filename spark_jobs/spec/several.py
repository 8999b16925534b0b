"""Several: topics that one pipeline reads as one: a union with the topic's name as a column.

A topic's number is its place in `topics`. A partition of all of them has one number too: the
topic's number times PARTITIONS and Kafka's own. So with one topic all numbers are Kafka's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.model import refuse
from spark_jobs.spec.topic import PARTITIONS, Topic

if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMN: Final = "topic"
"""The column with a record's topic."""
MOST: Final = 1_000
"""Topics of one pipeline: their partitions' numbers fit 32 bits."""
BETWEEN: Final = ", "
"""What is between their names, which no name has."""


_NAMES: Final = "a pipeline reads declarations, and no name or pattern is one"
_LIST: Final = (
    "Write topics=(ONE, TWO), with a Topic(name=..., fields=...) for each; a pattern is for "
    "more_topics=MoreTopics(...)"
)


class Several(Topic):
    """What the topics have in common. A member has what is its own: name, format, places, rules."""

    source: ClassVar[str] = "spark_jobs.source.sources:union"
    name: str
    """the names of all of them"""
    members: tuple[Topic, ...]
    """the topics, by their numbers"""

    @classmethod
    def of(cls, topics: tuple[Topic, ...]) -> Self:
        """Raises SpecInvalid, which names the field in which two of them differ."""
        _refuse_names(topics)
        first = topics[0]
        for other in topics[1:]:
            _refuse_other_fields(first, other)
        required = {
            name: all(_fields(topic)[name].required for topic in topics) for name in first.columns
        }
        fields = (
            Field(name=each.name, type=each.type, required=required[each.name], about=each.about)
            for each in first.fields
        )
        return cls(
            name=BETWEEN.join(topic.name for topic in topics),
            cluster=first.cluster,
            members=topics,
            event_time=first.event_time,
            fields=(*fields, Field(name=COLUMN, type="string", about="the record's topic")),
            max_ahead=max(topic.max_ahead for topic in topics),
            tombstones=_tombstones(topics),
        )

    @property
    def each(self) -> tuple[Topic, ...]:
        return self.members

    @property
    def reads_headers(self) -> bool:
        return any(topic.reads_headers for topic in self.members)

    def of_partition(self, partition: int) -> Topic:
        number = partition // PARTITIONS
        # An ops table may have records of a topic that was there before a reset.
        return self.members[number if number < len(self.members) else 0]

    def shown(self, partition: int) -> str:
        number, own = divmod(partition, PARTITIONS)
        name = self.members[number].name if number < len(self.members) else f"topic {number + 1}"
        return f"{name}/{own}"

    def number_of(self, shown: str) -> int | None:
        name, _, own = shown.rpartition("/")
        numbers = {each.name: number for number, each in enumerate(self.members)}
        known = name in numbers and own.isdecimal() and int(own) < PARTITIONS
        return numbers[name] * PARTITIONS + int(own) if known else None

    def with_members(self, members: Iterable[Topic]) -> Self:
        """The same with other declarations of the same topics."""
        return type(self).of(tuple(members))


_CLUSTERS = "they are of several clusters, and a pipeline reads one"


def refuse_none(given: object) -> tuple[Topic, ...]:
    """What is given as `topics`, if it is topics: no name, no pattern of names, none at all."""
    if isinstance(given, Topic):
        refuse("topics", given.name, "it is one topic", "Write topic=, or topics=(ONE, TWO)")
    if given == ():
        refuse("topics", given, "a pipeline reads a topic", "Name one at least, or set topic")
    if not isinstance(given, tuple | list) or not all(isinstance(each, Topic) for each in given):
        refuse("topics", given, _NAMES, _LIST)
    return tuple(given)


def _refuse_names(topics: tuple[Topic, ...]) -> None:
    names = [topic.name for topic in topics]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        refuse("topics", twice, "a topic is there twice", "Name each topic once")
    if len(names) > MOST:
        refuse("topics", len(names), f"a pipeline reads at most {MOST} topics", "Make two of it")
    if len(clusters := {topic.cluster for topic in topics}) > 1:
        refuse("topics", sorted(clusters), _CLUSTERS, "Make a pipeline of each")
    if inside := [topic.name for topic in topics if isinstance(topic, Several)]:
        refuse("topics", inside, "it is several topics itself", "Name them one by one")
    if taken := [topic.name for topic in topics if COLUMN in topic.columns]:
        refuse(
            "topics",
            taken,
            f"a field is called {COLUMN!r}, as the column with a record's topic is",
            "Rename the field, or leave it out if it has the topic's name",
        )


def _tombstones(topics: tuple[Topic, ...]) -> Literal["malformed", "dropped"]:
    """Only a dropped one is good and has no event time."""
    return "dropped" if any(each.tombstones == "dropped" for each in topics) else "malformed"


def _fields(topic: Topic) -> dict[str, Field]:
    return {field.name: field for field in topic.fields}


def _refuse_other_fields(first: Topic, other: Topic) -> None:
    """Where, how and whether a field is in a record may differ; its name and its type may not."""
    one, two = _fields(first), _fields(other)
    for having, lacking, names in (
        (first, other, [name for name in one if name not in two]),
        (other, first, [name for name in two if name not in one]),
    ):
        if names:
            refuse(
                "topics",
                lacking.name,
                f"it has no field {names[0]!r}, which {having.name} has",
                "Declare it in both, with required=False where records lack it, or in none",
            )
    for name in first.columns:
        if one[name].type != two[name].type:
            refuse(
                "topics",
                other.name,
                f"its field {name!r} is {two[name].type}, and {one[name].type} in {first.name}",
                "Give the field one type in both",
            )
    if first.event_time != other.event_time:
        refuse(
            "topics",
            other.name,
            f"its event time is the field {other.event_time!r}, and {first.event_time!r} in "
            f"{first.name}",
            "Give the event time one name in both",
        )
