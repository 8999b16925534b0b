"""Several: topics that one pipeline reads as one: a union with the topic's name as a column.

A topic's number is its place in `topics` (spec/inputs.py).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final, Literal, Self

from pydantic import model_validator

from spark_jobs.spec.fields.field import Field
from spark_jobs.spec.inputs import BETWEEN, COLUMN, Topics
from spark_jobs.spec.model import Model, refuse
from spark_jobs.spec.topic import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spark_jobs.spec.steps.step import Step

MOST: Final = 1_000
"""Topics of one pipeline: their partitions' numbers fit 32 bits."""


_NAMES: Final = "a pipeline reads declarations, and no name or pattern is one"
_LIST: Final = (
    "Write topics=(ONE, TWO), with a Topic(name=..., fields=...) for each; a pattern is for "
    "more_topics=MoreTopics(...)"
)


class Several(Topic):
    """The record of all: what the topics have in common; of topics that a step takes apart, the
    fields of each, null in the records of the others. A member has what is its own: name, format,
    places, rules.
    """

    source: ClassVar[str] = "spark_jobs.source.sources:union"
    name: str
    """the names of all of them"""
    members: tuple[Topic, ...]
    """the topics, by their numbers"""

    @classmethod
    def of(cls, topics: tuple[Topic, ...], *, apart: bool = False) -> Self:
        """`apart`: a step takes them apart, so each may have fields of its own. Raises SpecInvalid,
        which names the field in which two of them differ.
        """
        _refuse_names(topics)
        _refuse_each(topics)
        if alone := [each.name for each in topics if each.alone]:
            refuse("topics", alone, "a table is read by itself", "Give it a pipeline of its own")
        first = topics[0]
        for other in () if apart else topics[1:]:
            _refuse_lacking(first, other)
        _refuse_other_types(topics)
        return cls(
            name=BETWEEN.join(topic.name for topic in topics),
            cluster=first.cluster,
            members=topics,
            event_time=first.event_time,
            fields=Topics(topics, named=True).fields,
            max_ahead=max(topic.max_ahead for topic in topics),
            tombstones=_tombstones(topics),
        )

    @property
    def inputs(self) -> tuple[Topic, ...]:
        return self.members

    def with_members(self, members: Iterable[Topic]) -> Self:
        """The same with other declarations of the same topics."""
        apart = any({*each.columns, COLUMN} != {*self.columns} for each in self.members)
        return type(self).of(tuple(members), apart=apart)


class MoreTopics(Model):
    """Topics that are read as they come, by their names.

    New ones stand behind those that a checkpoint has, sorted, and stay where they came. Which ones
    it has, its identity says: so what is gone is missed, and whatever is computed again reads the
    same.
    """

    pattern: str
    """a regular expression of names"""
    like: Topic
    """what each gets, without an archive"""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        try:
            re.compile(self.pattern)
        except re.error as error:
            refuse("pattern", self.pattern, f"it is no regular expression: {error}", "Correct it")
        if re.fullmatch(self.pattern, "__consumer_offsets"):
            refuse("pattern", self.pattern, "Kafka's own topics are of it", "Make it narrower")
        return self

    def among(self, names: Iterable[str]) -> list[str]:
        """The names that match the pattern, sorted."""
        return sorted(name for name in names if re.fullmatch(self.pattern, name))

    def topic(self, name: str) -> Topic:
        return self.like.model_copy(update={"name": name, "archive": None})


def refuse_taken(steps: Sequence[Step], inputs: tuple[Topic, ...], more: MoreTopics | None) -> None:
    """Refuse a step that takes inputs apart where it cannot: other inputs than the pipeline's,
    topics that may come later, a step before it that has other columns than the topics have.
    """
    for at, step in enumerate(steps):
        if not step.takes:
            continue
        names, before = tuple(topic.name for topic in inputs), steps[:at]
        if more is not None or {*step.takes} != {*names}:
            refuse(
                f"{step.kind}.takes",
                step.takes,
                f"the pipeline's topics are {', '.join(names)}" + (" and more" if more else ""),
                "List these topics, each with topics=(ONE, TWO), and no others",
            )
        if made := [each.kind for each in before if each.condition is None]:
            refuse(
                "steps",
                made,
                f"a {step.kind} takes the topics' records as they are",
                f"Put the {step.kind} first, or behind conditions alone",
            )


def apart(steps: object) -> bool:
    """Whether one of these steps takes the topics apart."""
    return isinstance(steps, tuple | list) and any(getattr(each, "takes", ()) for each in steps)


def taking(steps: object, inputs: tuple[Topic, ...]) -> object:
    """These steps as they are with these topics. What is no step is refused behind this."""
    if not isinstance(steps, tuple | list):
        return steps
    return tuple(each.taking(inputs) if getattr(each, "takes", ()) else each for each in steps)


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


def _refuse_each(topics: tuple[Topic, ...]) -> None:
    if found := [topic.name for topic in topics if topic.each]:
        refuse(
            "each",
            found,
            "a value with many records does not go with several topics",
            "Give each topic a pipeline, and read their tables: Table(of=...)",
        )


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


def _refuse_lacking(first: Topic, other: Topic) -> None:
    """Where, how and whether a field is in a record may differ; its name may not."""
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


def _refuse_other_types(topics: tuple[Topic, ...]) -> None:
    """A name has one type in all of them, and one is the event time's."""
    types: dict[str, tuple[str, str]] = {}
    for topic in topics:
        for field in topic.fields:
            kind, of = types.setdefault(field.name, (field.type, topic.name))
            if field.type != kind:
                refuse(
                    "topics",
                    topic.name,
                    f"its field {field.name!r} is {field.type}, and {kind} in {of}",
                    "Give the field one type in both",
                )
        if topic.event_time != topics[0].event_time:
            refuse(
                "topics",
                topic.name,
                f"its event time is the field {topic.event_time!r}, and "
                f"{topics[0].event_time!r} in {topics[0].name}",
                "Give the event time one name in both",
            )
