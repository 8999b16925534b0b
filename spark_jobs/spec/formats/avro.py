"""Avro as a topic's format, as a spec declares it."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field as Described, model_validator

from spark_jobs.spec.formats.format import Format
from spark_jobs.spec.model import refuse

REGISTRY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
SUBJECT: Final = re.compile(r"[\w.:/-]+")
"""A name, and no JSON of a schema."""


IdIn = Annotated[
    Literal["value", "header"],
    Described(
        description="where the schema's id is: in front of the value; or in the header "
        "__value_schema_id, of a key __key_schema_id, and without that in front too"
    ),
]
ASKS: Final = "spark_jobs.runs.schema_look"
ELEMENTS: Final = "spark_jobs.decode.schemed.object_elements:SchemedElements"
NOT_ROWS: Final = frozenset({"id_in"})
"""An id means one schema wherever it is."""


def refuse_registry(name: str, id_in: str) -> None:
    """Refuse what cannot be a folder, and an id of no registry."""
    if id_in == "header" and not name:
        refuse("id_in", id_in, "without a registry there is no id", "Name the registry")
    if name and not REGISTRY.fullmatch(name):
        refuse(
            "registry",
            name,
            "schemas are kept in a folder of this name; schema.registry.url says where it is",
            "Use lower-case letters, digits, '-' and '_', a letter first, at most 63",
        )


class Avro(Format):
    """Avro's binary encoding of one record. Fields are found by their names, and its logical types
    are times, dates and decimals.
    """

    kind: ClassVar[str] = "avro"
    decoder: ClassVar[str] = "spark_jobs.decode.avro.records:AvroDecoder"
    elements: ClassVar[str] = ELEMENTS
    layout: ClassVar[str] = "spark_jobs.files.avro:AvroFile"
    not_rows: ClassVar[frozenset[str]] = NOT_ROWS

    registry: str = ""
    """the records begin with the id of a schema registry's schema: a name of yours for that
    registry, under which its schemas are kept; schema.registry.url says where it is
    """
    reader: str = ""
    """the reader's schema, as JSON text, into which each writer's is resolved by Avro's rules;
    default: the writer's own
    """
    writer: str = ""
    """without a registry: the schema of all records, if not the reader's"""

    id_in: IdIn = "value"

    @property
    def reads_headers(self) -> bool:
        return self.id_in == "header"

    @property
    def asks(self) -> str:
        return ASKS if self.registry else ""

    @property
    def wrote(self) -> str:
        """The schema of records without an id."""
        return self.writer or self.reader

    @model_validator(mode="after")
    def _possible(self) -> Self:
        refuse_registry(self.registry, self.id_in)
        for name, given in (("reader", self.reader), ("writer", self.writer)):
            if SUBJECT.fullmatch(given):
                refuse(
                    name,
                    given,
                    "it is no schema; of a subject the latest version may be another in each run",
                    "Give the text of one version",
                )
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
