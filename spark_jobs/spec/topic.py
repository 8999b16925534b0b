"""A Kafka topic as a spec declares it: its name, the fields of its records, and its event time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field as Described, model_validator

from spark_jobs.spec.archive import Archive
from spark_jobs.spec.checks.rule import Rule
from spark_jobs.spec.columns import refuse_own, refuse_repeated
from spark_jobs.spec.duration import Duration, positive, zoned
from spark_jobs.spec.fields.each import OF_ENVELOPED, OF_TEXT, element_places, levels, refuse_each
from spark_jobs.spec.fields.field import Field, Name
from spark_jobs.spec.fields.form import Form
from spark_jobs.spec.fields.place import (
    FORMS,
    Envelope,
    Named,
    Place,
    attribute_names,
    data_places,
    header_names,
    key_places,
    overlapping,
    value_places,
)
from spark_jobs.spec.formats.format import JSON, TEXT, AnyFormat, Format
from spark_jobs.spec.model import OF_A_VARIABLE, Model, refuse
from spark_jobs.spec.side import SideTable

__all__ = ["Field", "Name", "Topic"]


def _topic_name(given: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", given) or given in {".", ".."}:
        refuse(
            "name",
            given,
            "Kafka does not allow this topic name",
            "Use letters, digits, '.', '_' and '-', at most 249",
        )
    return given


TopicName = Annotated[str, AfterValidator(_topic_name)]


class Topic(Model):
    """A topic and the contract of its records. Several pipelines may read one topic."""

    source: ClassVar[str] = "spark_jobs.source.sources:kafka"
    """The function (spec, settings, waiting, until) that gives its Source (source/port.py), as
    module:name: arguments as source_of has them. A declaration of your own names another one.
    """
    alone: ClassVar[bool] = False
    """Whether no other topic can be read with it as one."""

    name: TopicName
    """the topic's name in Kafka"""
    cluster: str = Described(default="", pattern=OF_A_VARIABLE, max_length=30)
    """its Kafka cluster, if there are several: deploy.md"""
    fields: tuple[Field, ...]
    """the fields of a record; Sluice ignores other keys"""
    event_time: str
    """the timestamp field with the time of the event"""
    max_ahead: Duration = Described(default=timedelta(minutes=10), strict=False)
    """how much later than the Kafka timestamp, and than the moment at which its batch was planned,
    an event time may be; records beyond it are premature
    """
    format: AnyFormat = JSON
    """how values are encoded"""
    key: AnyFormat = TEXT
    """how keys are encoded, for the fields of part 'key'"""
    each: str | None = None
    """the list of records in a value, as 'resourceLogs[].logRecords[]'; '[]': the value is it"""
    envelope: Envelope | None = None
    """what is around the row that the fields are in; its own fields have part 'envelope'. debezium:
    the row after the change, of a delete the one before. cloudevents: the data of an event; binary
    or structured, as its header content-type says
    """
    tombstones: Literal["malformed", "dropped"] = "malformed"
    """what a record without a value is; a dropped one is counted as filtered"""
    rules: tuple[Rule, ...] = ()
    """what a GOOD record fulfils, and what becomes of one that does not"""
    starting: datetime | None = None
    """a topic that is new begins at the first record of this Kafka timestamp or later"""
    archive: Archive | None = None
    """keep every record in a table of its own, for longer than Kafka's retention; default: no
    archive
    """

    @model_validator(mode="after")
    def _whole(self) -> Self:
        names = [field.name for field in self.fields]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or not names:
            refuse(
                "fields",
                twice or names,
                "a record needs at least one field, and each field another name",
                "Rename, remove or add fields",
            )
        refuse_own("fields", names)
        refuse_repeated("rules", (rule.name for rule in self.rules))
        clock = next((field for field in self.fields if field.name == self.event_time), None)
        if clock is None or clock.type != "timestamp" or not clock.required:
            others = [f.name for f in self.fields if f.type == "timestamp" and f.required]
            refuse(
                "event_time",
                self.event_time,
                "it is not a required field of type timestamp",
                f"Name one of {others}, or declare it so"
                if others
                else "Declare it so, of a number with format='ms'; or Kafka's own, with "
                "part='timestamp'",
            )
        if clock.personal:
            refuse(
                "event_time",
                self.event_time,
                "it is personal, and slices, watermarks and ranges tell of it",
                "Declare another field personal, or take Kafka's own time: part='timestamp'",
            )
        self._refuse_parts()
        beside = {"envelope": OF_ENVELOPED} if self.envelope else {}
        for each in (self.format, self.format.within):
            beside |= {} if each.elements else {f"the format {each.kind}": OF_TEXT}
        refuse_each(self.each, self.fields, beside)
        zoned("starting", self.starting)
        positive("max_ahead", self.max_ahead)
        return self

    def _refuse_parts(self) -> None:
        around = [field.name for field in self.fields if field.part == "envelope"]
        if around and self.envelope is None:
            refuse("part", around, "the topic has no envelope", "Set envelope, or give a path")
        attributes = [field for field, _ in self.attribute_names]
        deep = [each.name for each in attributes if any(len(path) > 1 for path in each.paths)]
        if deep:
            refuse("path", deep, "an attribute has no parts", "Leave part out for what is in data")
        keys = [field.name for field in self.fields if field.part == "key" and field.path]
        if keys and self.key == TEXT:
            refuse("path", keys, "a key of text has no parts", "Say what the key is: key=Json()")
        self._refuse_parted()
        for places in (self.value_places, self.key_places):
            if found := overlapping(places):
                names = [place.field.name for place in found]
                refuse(
                    "path",
                    names,
                    "one is a part of the other",
                    "Declare the larger one, and take the other from it in a Transform",
                )

    def _refuse_parted(self) -> None:
        """What has parts where there is text alone."""
        texts = [field for field, _ in self.attribute_names]
        for format_, places in ((self.format, self.data_places), (self.key, self.key_places)):
            texts += [each.field for each in places if format_.within.of_texts]
        for field in texts:
            if field.parted:
                refuse(
                    "type",
                    field.type,
                    f"the field {field.name} is text there, which has no parts",
                    "Read it as string, and take it apart in a Transform",
                )

    def requiring(self, names: Collection[str]) -> Topic:
        """The topic, in which the fields with these names are required: a record without one is
        malformed when it is decoded.
        """
        if all(field.required or field.name not in names for field in self.fields):
            return self
        fields = (
            field.model_copy(update={"required": field.required or field.name in names})
            for field in self.fields
        )
        return self.model_copy(update={"fields": tuple(fields)})

    @property
    def columns(self) -> tuple[str, ...]:
        """The record's columns in declared order."""
        return tuple(field.name for field in self.fields)

    @property
    def place(self) -> str:
        """Its name, behind its cluster's name if that has one: `eu/orders`."""
        return f"{self.cluster}/{self.name}" if self.cluster else self.name

    @property
    def of_kafka(self) -> bool:
        """Whether brokers are asked for its records."""
        return self.source == Topic.source

    @property
    def lies(self) -> str:
        """The folder or URL with its files, where its records are in files."""
        return ""

    def told(self, brokers: str) -> str:
        """Where its records are, for a reader."""
        return f"topic {self.name} on {brokers}"

    def refuse_asked(self, asked: Mapping[str, object]) -> None:  # noqa: ARG002 - of another source it counts
        """Refuse what a pipeline asks of its source and this one cannot give: field -> value."""
        for part, each in (("format", self.format), ("key", self.key)):
            if each.of_files:
                refuse(part, each.kind, "a topic of Kafka has no such values", "Use Files(...)")

    @property
    def inputs(self) -> tuple[Topic, ...]:
        """Itself; the topics that it stands for, by their numbers (spec/several.py)."""
        return (self,)

    def with_members(self, members: Iterable[Topic]) -> Topic:
        """The same with another declaration for each of `each`."""
        [other] = members
        return other

    @property
    def beside(self) -> tuple[SideTable, ...]:
        """What runs note of it beside its positions (spec/side.py)."""
        return ()

    @property
    def form(self) -> Form | None:
        """Its envelope; None without one."""
        return FORMS[self.envelope] if self.envelope else None

    @property
    def value_places(self) -> tuple[Place, ...]:
        """Where its format finds fields."""
        if self.each:
            return element_places(self.fields)
        return value_places(self.fields, self.envelope)

    @property
    def data_places(self) -> tuple[Place, ...]:
        """Where the topic's format finds fields."""
        if self.each:
            return element_places(self.fields)
        return data_places(self.fields, self.envelope)

    @property
    def key_places(self) -> tuple[Place, ...]:
        """Where the format of its keys finds fields."""
        return key_places(self.fields)

    @property
    def header_names(self) -> tuple[Named, ...]:
        """The fields that headers have."""
        return header_names(self.fields)

    @property
    def attribute_names(self) -> tuple[Named, ...]:
        """The fields of the envelope that headers may have."""
        return attribute_names(self.fields, self.envelope)

    @property
    def types_of_headers(self) -> dict[str, str]:
        """The names of headers that are declared -> their type."""
        named = (*self.header_names, *self.attribute_names)
        return {name: field.type for field, names in named for name in names}

    @property
    def reads_headers(self) -> bool:
        """Whether a record's headers say anything."""
        formats = (self.format, self.key)
        named = self.header_names or self.attribute_names
        return bool(named) or any(each.reads_headers for each in formats)

    @property
    def registered(self) -> dict[str, Format]:
        """The parts of a record, value or key, that have the id of a registry's schema -> the
        part's format.
        """
        return {
            part: each for part, each in (("value", self.format), ("key", self.key)) if each.asks
        }

    @property
    def keys_of_a_value(self) -> dict[str, str]:
        """The keys of a value's object that are declared -> their type, or that it has parts."""
        found = dict[str, str]()
        if self.each:
            return dict.fromkeys(levels(self.each)[0][:1], "with parts")
        for place in self.value_places:
            whole = (*place.bases[0], *place.paths[0])
            kind = place.field.type if len(whole) == 1 else "with parts"
            found.setdefault(str(whole[0]), kind)
        return found
