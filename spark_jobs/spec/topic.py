"""A Kafka topic as a spec declares it: its name, the fields of its records, and its event time."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Self

from pydantic import AfterValidator, Field as Described, model_validator

from spark_jobs.spec.archive import Archive
from spark_jobs.spec.columns import refuse_own
from spark_jobs.spec.duration import Duration
from spark_jobs.spec.format import JSON, AnyFormat
from spark_jobs.spec.model import Model, refuse
from spark_jobs.values.field_types import FIELD_TYPES


def _name(given: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", given):
        refuse(
            "name",
            given,
            "a name becomes a folder, a column and a DAG id",
            "Use lower-case letters, digits and underscores, a letter first, at most 63",
        )
    return given


def _topic_name(given: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", given) or given in {".", ".."}:
        refuse(
            "name",
            given,
            "Kafka does not allow this topic name",
            "Use letters, digits, '.', '_' and '-', at most 249",
        )
    return given


def _type(given: str) -> str:
    if given not in FIELD_TYPES:
        refuse("type", given, "Sluice decodes no such type", f"Use one of {', '.join(FIELD_TYPES)}")
    return given


Name = Annotated[str, AfterValidator(_name)]


class Field(Model):
    """One field of a record, or one column of an output."""

    name: Name = Described(description="the JSON key and the column, in exactly these letters")
    type: Annotated[str, AfterValidator(_type)] = Described(description="a Spark SQL type")
    required: bool = Described(
        default=True, description="whether a missing or null value makes the record malformed"
    )
    about: str = Described(default="", description="its meaning and unit")


class Topic(Model):
    """A topic and the contract of its records. Several pipelines may read one topic."""

    name: Annotated[str, AfterValidator(_topic_name)] = Described(
        description="the topic's name in Kafka"
    )
    fields: tuple[Field, ...] = Described(
        description="the fields of a record; Sluice ignores other keys"
    )
    event_time: str = Described(description="the timestamp field with the time of the event")
    max_ahead: Duration = Described(
        default=timedelta(minutes=10),
        strict=False,
        description="how much later than the Kafka timestamp, and than the moment at which its "
        "batch was planned, an event time may be; records beyond it are premature",
    )
    format: AnyFormat = Described(default=JSON, description="how values are encoded")
    archive: Archive | None = Described(
        default=None,
        description="keep every record in a table of its own, for longer than Kafka's retention; "
        "default: no archive",
    )

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
        clock = next((field for field in self.fields if field.name == self.event_time), None)
        if clock is None or clock.type != "timestamp" or not clock.required:
            possible = [f.name for f in self.fields if f.type == "timestamp" and f.required]
            refuse(
                "event_time",
                self.event_time,
                "it is not a required field of type timestamp",
                f"Name one of {possible}, or declare it so in fields",
            )
        if self.max_ahead <= timedelta():
            refuse(
                "max_ahead",
                self.max_ahead,
                "it must be more than 0, because clocks differ",
                "Allow some minutes",
            )
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The record's columns in declared order."""
        return tuple(field.name for field in self.fields)
