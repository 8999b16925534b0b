"""Upstream: a Delta table as a topic: its rows are the records. What is asked of it: upstream/."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from pkgutil import resolve_name
from typing import Any, ClassVar, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.fields.field import Field, is_name
from spark_jobs.spec.formats.format import JSON, TEXT
from spark_jobs.spec.model import refuse
from spark_jobs.spec.side import SideTable
from spark_jobs.spec.topic import Topic

ITS_OUTPUT: str = "spark_jobs.registry.output:fields_of"
"""What gives the fields of a pipeline's table: it reads another spec, which none here may."""
OF_A_RECORD = ("cluster", "each", "format", "key", "envelope", "tombstones", "starting", "archive")
"""What a row has not."""


class Rows(SideTable):
    """The table beside its own stream: a run notes its version, and which rows were replaced."""

    side: ClassVar = "spark_jobs.upstream.rows_side:RowsSide"
    of: str = Described(default="", exclude=True)
    path: str = Described(default="", exclude=True)
    event_time: str
    fields: tuple[Field, ...] = Described(exclude=True)

    @property
    def pipeline(self) -> str | None:
        return self.of or None

    @property
    def lies(self) -> str:
        return self.path


class Table(Topic):
    """A Delta table to which rows are appended, read as a topic is."""

    source: ClassVar[str] = "spark_jobs.upstream.rows_source:source"
    alone: ClassVar[bool] = True
    of: str = ""
    """a pipeline of this root, for its published table"""
    path: str = ""
    """in place of `of`: the whole path of a Delta table"""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Called as its table; with the fields that the pipeline's output has."""
        if not isinstance(given, dict):
            return given
        of, path = str(given.get("of") or ""), str(given.get("path") or "")
        if bool(of) == bool(path):
            refuse("of", of, "a Table is one pipeline's, or lies at one path", "Set one of the two")
        named = {"name": of or PurePosixPath(path).name} | given
        if of and "fields" not in given:
            named["fields"] = resolve_name(ITS_OUTPUT)(of, str(given.get("event_time", "")))
        return named

    @model_validator(mode="after")
    def _rows_alone(self) -> Self:
        if self.of and not is_name(self.of):
            refuse("of", self.of, "it is no pipeline's name", "Write of='daily_orders', or path=")
        if self.path and not self.path.startswith("/"):
            refuse("path", self.path, "it is no whole path", "Write '/data/orders'")
        usual = {"format": JSON, "key": TEXT, "tombstones": "malformed", "cluster": ""}
        for name in OF_A_RECORD:
            if (given := getattr(self, name)) != usual.get(name):
                refuse(name, str(given), "a row of a table has none", "Leave it out")
        for each in self.fields:
            if each.part != "value" or each.format or each.path:
                refuse("fields", each.name, "a column has a name and a type", "Set these alone")
        return self

    def told(self, brokers: str) -> str:  # noqa: ARG002 - another topic is in Kafka
        return f"rows of {self.path or f'published/{self.of}'}"

    def refuse_asked(self, asked: Mapping[str, object]) -> None:
        for name, given in asked.items():
            if given:
                refuse(name, given, f"{self.name} is a table", "Leave it out")

    @property
    def beside(self) -> tuple[SideTable, ...]:
        named = {"name": self.name, "of": self.of, "path": self.path}
        return (Rows(**named, event_time=self.event_time, fields=self.fields),)
