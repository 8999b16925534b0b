"""Compressed elements: inflates each value, and leaves it to what takes its format apart."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from spark_jobs.decode.columns.column import Wrong
from spark_jobs.decode.compressed_decoder import INFLATE, CompressedDecoder
from spark_jobs.decode.formats import Element, elements_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spark_jobs.decode.formats import Decoded, Records
    from spark_jobs.spec import Compressed, Topic
    from spark_jobs.spec.fields.place import Place


class ElementDecoder(CompressedDecoder):
    """Of an element's bytes, which are inflated."""

    def __init__(
        self, format_: Compressed, places: Sequence[Place], wanted: Sequence[str], given: Any
    ) -> None:
        inner = format_.within
        self._inner = resolve_name(inner.elements).decoder(inner, places, wanted, given)

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        found: Decoded = self._inner.decode(records)
        return found


class CompressedElements:
    """As the port has it. One value at a time is inflated."""

    decoder = ElementDecoder

    def __init__(self, topic: Topic, given: Any) -> None:
        format_: Any = topic.format
        self._inflate, self._most = INFLATE[format_.by], format_.at_most
        self._inner = elements_of(topic.model_copy(update={"format": format_.within}), given)

    def of(self, records: Records) -> Iterator[list[Element]]:
        """As the port has it."""
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs none

        for number, packed in enumerate(records.values):
            value: bytes | None = packed.as_py()
            try:
                inflated = self._inflate(value, self._most) if value else value
            except Wrong as error:
                yield [Element(None, None, str(error))]
                continue
            alone = records.at([number])._replace(values=pa.array([inflated], pa.binary()))
            yield from self._inner.of(alone)
