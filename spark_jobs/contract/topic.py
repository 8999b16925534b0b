"""A Kafka topic as a pipeline sees it: its name, its record's fields, and what its clocks may do."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field as Described, model_validator

from spark_jobs.contract.duration import Duration
from spark_jobs.contract.field_types import FIELD_TYPES
from spark_jobs.contract.model import Model, refuse

RESERVED = ("kafka", "malformed", "fate", "suspect", "kept")
"""Columns that decode/decoder.py, classify.py and capture.py put beside a record's own."""


def _name(given: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", given):
        refuse("name", given, "a name becomes a folder, a column and a DAG id",
               "Use lower-case letters, digits and underscores, a letter first, at most 63")
    return given


def _topic_name(given: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,249}", given) or given in {".", ".."}:
        refuse("name", given, "Kafka has no topic of such a name", "Use letters, digits, '.', '_' and '-', at most 249")
    return given


def _type(given: str) -> str:
    if given not in FIELD_TYPES:
        refuse("type", given, "it is not a type that records are decoded to", f"Use one of {', '.join(FIELD_TYPES)}")
    return given


Name = Annotated[str, AfterValidator(_name)]


class Field(Model):
    """One field of a record, or one column of an output."""

    name: Name = Described(description="the JSON key and the column, letter for letter")
    type: Annotated[str, AfterValidator(_type)] = Described(description="a Spark SQL type")
    required: bool = Described(default=True, description="missing or null makes the record malformed")
    about: str = Described(default="", description="what it means and in which unit")


class Topic(Model):
    """A topic and the contract of its records. Several pipelines may read one topic."""

    name: Annotated[str, AfterValidator(_topic_name)] = Described(description="the topic's name in Kafka")
    fields: tuple[Field, ...] = Described(description="the record's fields; other keys in a record are ignored")
    event_time: str = Described(description="the timestamp field that says when the event happened")
    max_ahead: Duration = Described(
        default=timedelta(minutes=10),
        strict=False,
        description="how far an event time may lie past the record's Kafka timestamp before the record is premature",
    )
    format: Literal["json"] = Described(default="json", description="how values are encoded")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        names = [field.name for field in self.fields]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice or not names:
            refuse("fields", twice or names, "each field needs a name of its own, and a record at least one field",
                   "Rename or remove")
        taken = sorted(set(names) & set(RESERVED))
        if taken:
            refuse("fields", taken, "Sluice puts a column of that name beside the record's own", "Rename the field")
        clock = next((field for field in self.fields if field.name == self.event_time), None)
        if clock is None or clock.type != "timestamp" or not clock.required:
            refuse("event_time", self.event_time, "it is not a required field of type timestamp",
                   f"Name one of {[f.name for f in self.fields if f.type == 'timestamp' and f.required]}, "
                   "or declare it so in fields")
        if self.max_ahead <= timedelta():
            refuse("max_ahead", self.max_ahead, "clocks are never exactly equal", "Allow some minutes")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The record's columns in declared order."""
        return tuple(field.name for field in self.fields)
