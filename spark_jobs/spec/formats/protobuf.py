"""Protobuf as a topic's format, as a spec declares it."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, model_validator

from spark_jobs.spec.formats.avro import ASKS, ELEMENTS, NOT_ROWS, IdIn, refuse_registry
from spark_jobs.spec.formats.format import Format
from spark_jobs.spec.model import refuse


def _as_text(given: object) -> object:
    return b64encode(given).decode() if isinstance(given, bytes) else given


class Protobuf(Format):
    """Protobuf's encoding of one message. Fields are found by the names that they have in the
    schema; those of well-known types are times and values.
    """

    kind: ClassVar[str] = "protobuf"
    decoder: ClassVar[str] = "spark_jobs.decode.protobuf.decoder:ProtobufDecoder"
    elements: ClassVar[str] = ELEMENTS
    not_rows: ClassVar[frozenset[str]] = NOT_ROWS

    registry: str = ""
    """the records begin with the id of a schema registry's schema and the place of the message in
    it: a name of yours for that registry, under which its schemas are kept
    """
    message: str = ""
    """the full name of the message, such as 'shop.Order'; with a registry, a record of another
    message is malformed, and by default none is
    """
    descriptor: Annotated[str, BeforeValidator(_as_text)] = ""
    """without a registry: the bytes of a FileDescriptorSet, as `protoc --include_imports
    --descriptor_set_out=FILE` writes it, or their base64
    """

    id_in: IdIn = "value"

    @property
    def reads_headers(self) -> bool:
        return self.id_in == "header"

    @property
    def asks(self) -> str:
        return ASKS if self.registry else ""

    @property
    def described(self) -> bytes:
        """The bytes of `descriptor`."""
        return b64decode(self.descriptor)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        refuse_registry(self.registry, self.id_in)
        if self.registry and self.descriptor:
            refuse("descriptor", "...", "the registry has the schemas", "Leave it out")
        if not self.registry and not (self.descriptor and self.message):
            refuse(
                "registry",
                self.registry,
                "nothing says with which schema the records are written",
                "Name a registry, or give descriptor= and message=",
            )
        try:
            b64decode(self.descriptor, validate=True)
        except binascii.Error:
            refuse("descriptor", "...", "it is no base64", "Give the bytes of the file")
        return self
