"""A schema as a registry has it, in the form that goes to the tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Schema(NamedTuple):
    """A schema as decoders take it."""

    kind: str
    """AVRO, PROTOBUF or JSON."""
    text: str
    references: tuple[tuple[str, str], ...]
    descriptor: bytes | None
    """Of Protobuf: a FileDescriptorSet, the schema's own file the last."""


Schemas = Mapping[str, Schema | None]
"""Id, as text -> its schema, or None if the registry has none."""
