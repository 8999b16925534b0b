"""Files: a folder as a pipeline's source, as a spec declares it. What is asked of it:
files/source.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any, ClassVar, Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.duration import Duration
from spark_jobs.spec.model import refuse
from spark_jobs.spec.topic import Topic

STORES: Final = ("s3://", "s3a://")


class Files(Topic):
    """A Topic whose records are in a folder's files, with these fields more."""

    source: ClassVar[str] = "spark_jobs.files.source:source"
    path: str = Described(exclude=True)
    """the folder: a whole path, or a URL of the root's S3"""
    names: str = "*"
    """which files in it and below, such as '*.jsonl'; what begins with . or _ is none, and links to
    folders are not followed
    """
    header: bool = True
    """whether a file of CSV begins with `format.columns`"""
    settled: Duration = Described(default=timedelta(minutes=1), strict=False)
    """how long a file has not changed before it is read"""
    marker: str = ""
    """a file beside it without which it is not read, such as '_SUCCESS'; * is its own name"""
    copies: Literal["refuse", "skip", "read"] = "refuse"
    """what becomes of a file with another's content; a skipped one is told once"""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Called as its folder, where that is a name."""
        if not isinstance(given, dict) or "name" in given:
            return given
        name = PurePosixPath(str(given.get("path", ""))).name
        return given | {"name": name} if re.fullmatch(r"[A-Za-z0-9_-]+", name) else given

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if not self.path.startswith(("/", *STORES)):
            refuse(
                "path",
                self.path,
                "it is no whole path, and no URL of S3",
                "Write '/data/orders' or 's3://bucket/orders'",
            )
        if not self.format.layout:
            refuse(
                "format",
                self.format.kind,
                "nobody knows where in a file its records are",
                "Use Json, Csv, Lines, Text, Avro(reader=...) or Parquet",
            )
        for name in ("cluster", "starting", "archive"):
            if given := getattr(self, name):
                refuse(name, given, "it is about a topic of Kafka", "Leave it out")
        if self.registered:
            refuse(
                "format.registry",
                [*self.registered],
                "a record in a file begins with no schema's id",
                "Give the schema as text: reader=...",
            )
        if self.reads_headers:
            refuse("part", "header", "a record in a file has no headers", "Leave the field out")
        if "/" in self.marker.strip("*"):
            refuse("marker", self.marker, "it lies beside the files", "Write a name alone")
        if self.marker and (not self.marker.strip("*") or self.marker == self.names):
            refuse("marker", self.marker, "each file would be a marker", "Write another name")
        return self

    @property
    def lies(self) -> str:
        return self.path

    def told(self, brokers: str) -> str:  # noqa: ARG002 - another topic is in Kafka
        return f"files in {self.path}"

    def refuse_asked(self, asked: Mapping[str, object]) -> None:
        for name, given in asked.items():
            if given:
                refuse(name, given, f"{self.name} is a folder of files", "Leave it out")
