"""Files: a folder as a pipeline's source, as a spec declares it. What is asked of it:
files/source.py.
"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.duration import Duration
from spark_jobs.spec.model import refuse
from spark_jobs.spec.topic import Topic

if TYPE_CHECKING:
    from spark_jobs.spec.pipeline import Pipeline

STORES: Final = ("s3://", "s3a://")


class Files(Topic):
    """A folder whose files have the records. Each file is read once. A record's offset is its
    number, its key the file's path in the folder, and its timestamp the file's last change.
    """

    source: ClassVar[str] = "spark_jobs.files.source:source"
    path: str = Described(exclude=True)
    """the folder: a whole path on the disk; or, if the root is on S3, a URL of the same store"""
    names: str = "*"
    """which files of it and of the folders below it, such as '*.jsonl' or '2026/*.csv'; hidden
    ones, which begin with a point or an underscore, are none
    """
    header: bool = True
    """of CSV: whether a file begins with the names of its columns, which are `format.columns`"""
    settled: Duration = Described(default=timedelta(minutes=1), strict=False)
    """how long a file has not changed before it is read"""
    marker: str = ""
    """the name of another file in the same folder without which a file is not read either, such as
    '_SUCCESS'; '*.done' stands for the file's own name and .done
    """
    copies: Literal["refuse", "skip", "read"] = "refuse"
    """what becomes of a file that has the content of one with another name; a skipped one is noted,
    and told once
    """

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
        return self

    @property
    def lies(self) -> str:
        return self.path

    def refuse_within(self, spec: Pipeline) -> None:
        for name, given in (
            ("reader_options", spec.reader_options),
            ("publish_at", spec.publish_at),
            ("schedule.when_data", spec.schedule.when_data),
            ("topics", spec.topics if spec.is_several else ()),
        ):
            if given:
                refuse(name, given, f"{self.name} is a folder of files", "Leave it out")
