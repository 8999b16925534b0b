"""A schema as a registry has it, in the form that goes to the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class SchemaUnread(ValueError):
    """What a registry has at an id is no schema that can be read; says why."""


class Schema(NamedTuple):
    """A schema as decoders take it."""

    kind: str
    """AVRO, PROTOBUF or JSON."""
    text: str
    references: tuple[tuple[str, str], ...]
    descriptor: bytes | None
    """Of Protobuf: a FileDescriptorSet, the schema's own file the last."""


Schemas = Mapping[str, Schema | str]
"""Id, as text -> its schema, or why there is none: the reason of its records."""
