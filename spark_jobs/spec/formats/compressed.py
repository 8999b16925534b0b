"""Compressed values, as a spec declares them."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import model_validator

from spark_jobs.spec.formats.avro import Avro
from spark_jobs.spec.formats.format import JSON, AnyFormat, Format
from spark_jobs.spec.formats.protobuf import Protobuf
from spark_jobs.spec.model import refuse


class Compressed(Format):
    """Values that are compressed one by one, by whoever writes them. What Kafka compresses itself
    needs no declaration.
    """

    kind: ClassVar[str] = "compressed"
    decoder: ClassVar[str] = "spark_jobs.decode.compressed_decoder:CompressedDecoder"
    elements: ClassVar[str] = "spark_jobs.decode.compressed_elements:CompressedElements"

    by: Literal["gzip", "zstd"]
    """the compression"""
    format: AnyFormat = JSON
    """how what is in it is encoded"""
    at_most: int = 10_000_000
    """bytes that a value may have when it is not compressed any more; a larger one is malformed"""

    @property
    def within(self) -> Format:
        return self.format

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.at_most < 1:
            refuse("at_most", self.at_most, "no value would be small enough", "Give bytes")
        inner = self.format
        if isinstance(inner, Compressed) or (isinstance(inner, Avro | Protobuf) and inner.registry):
            refuse(
                "format",
                inner.kind,
                "it is compressed already, or has a registry's id, which is looked for before the "
                "records are decoded",
                "Let Kafka compress: compression.type of the producer",
            )
        return self
