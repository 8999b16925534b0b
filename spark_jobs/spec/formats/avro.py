"""Avro as a topic's format, as a spec declares it."""

from __future__ import annotations

import re
from typing import ClassVar, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.formats.format import Format
from spark_jobs.spec.model import refuse

REGISTRY = re.compile(r"[a-z][a-z0-9_-]{0,62}")


def refuse_registry(name: str) -> None:
    """Refuse what cannot be a folder."""
    if name and not REGISTRY.fullmatch(name):
        refuse(
            "registry",
            name,
            "schemas are kept in a folder of this name",
            "Use lower-case letters, digits, '-' and '_', a letter first, at most 63",
        )


class Avro(Format):
    """Avro's binary encoding of one record. Fields are found by their names, and its logical types
    are times, dates and decimals.
    """

    kind: ClassVar[str] = "avro"
    decoder: ClassVar[str] = "spark_jobs.decode.avro.decoder:AvroDecoder"

    registry: str = Described(
        default="",
        description="the records begin with the id of a schema registry's schema: a name of yours "
        "for that registry, under which its schemas are kept; schema.registry.url says where it is",
    )
    reader: str = Described(
        default="",
        description="the reader's schema, as JSON text, into which each writer's is resolved by "
        "Avro's rules; default: the writer's own",
    )
    writer: str = Described(
        default="", description="without a registry: the schema of all records, if not the reader's"
    )

    @property
    def wrote(self) -> str:
        """The schema of records without an id."""
        return self.writer or self.reader

    @model_validator(mode="after")
    def _possible(self) -> Self:
        refuse_registry(self.registry)
        if self.registry and self.writer:
            refuse("writer", self.writer, "the registry has the writers' schemas", "Leave it out")
        if not self.registry and not self.wrote:
            refuse(
                "registry",
                self.registry,
                "nothing says with which schema the records are written",
                "Name a registry, or give reader= as JSON text",
            )
        return self
