"""Compressed decoder: inflates each value, and leaves what is in it to the decoder of its format.

A value of some bytes may become gigabytes: it is inflated no further than declared.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.formats import Decoded, Records, decoder_class

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Compressed, Topic
    from spark_jobs.spec.fields.place import Place

GZIP: Final = 31
"""zlib's window bits: gzip's header and no other."""
WINDOW: Final = 2**27
"""The most memory that a value of zstd may ask for, in bytes."""
PIECE: Final = 128
"""Bytes that are given to zstd at a time: one of its blocks has three at least, and 128 KB at most
when it is inflated.
"""


class Wrong(ValueError):
    """Why a value is malformed."""


class CompressedDecoder:
    """As the port has it."""

    def __init__(
        self, format_: Compressed, places: Sequence[Place], wanted: Sequence[str], given: Any
    ) -> None:
        self._inner = decoder_class(format_.format)(format_.format, places, wanted, given)
        self._inflate = {"gzip": gunzip, "zstd": unzstd}[format_.by]
        self._by, self._most = format_.by, format_.at_most

    @staticmethod
    def shape(format_: Compressed, topic: Topic) -> Any:
        """As that of the format in it."""
        declared = getattr(decoder_class(format_.format), "shape", None)
        return declared and declared(format_.format, topic)

    @staticmethod
    def prepare(format_: Compressed, topic: Topic, root: str, settings: Settings | None) -> Any:
        """As that of the format in it."""
        inner = format_.format
        return decoder_class(inner).prepare(inner, topic, root, settings)

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs none

        values: list[bytes | None] = records.values.to_pylist()
        wrong: dict[int, str] = {}
        for index, value in enumerate(values):
            if not value:
                continue
            try:
                values[index] = self._inflate(value, self._most)
            except Wrong as error:
                wrong[index], values[index] = str(error), b""
        found = self._inner.decode(records._replace(values=pa.array(values, pa.binary())))
        reasons = [wrong.get(index, reason) for index, reason in enumerate(found.reasons)]
        return Decoded(found.columns, reasons)


def gunzip(value: bytes, most: int) -> bytes:
    """One gzip member after the other (RFC 1952). Raises Wrong."""
    found = b""
    while value:
        part = zlib.decompressobj(GZIP)
        try:
            found += part.decompress(value, most + 1 - len(found))
        except zlib.error as error:
            raise Wrong(f"it is no gzip: {error}") from None
        _small(found, most)
        if not part.eof:
            raise Wrong("it ends within its gzip")
        value = part.unused_data
    return found


def unzstd(value: bytes, most: int) -> bytes:
    """One frame of zstd after the other (RFC 8878). Raises Wrong."""
    import zstandard  # noqa: PLC0415 - most topics need none

    try:
        size = zstandard.frame_content_size(value)
        if 0 < size <= most:
            return bytes(_zstd().decompress(value, allow_extra_data=False))
    except zstandard.ZstdError:
        pass  # of several frames, or malformed: which?
    found = b""
    while value:
        frame, at = _zstd().decompressobj(), 0
        try:
            while not frame.eof and at < len(value):
                found += frame.decompress(value[at : at + PIECE])
                at += PIECE
                _small(found, most)
        except zstandard.ZstdError as error:
            raise Wrong(f"it is no zstd: {str(error)[:80]}") from None
        if not frame.eof:
            raise Wrong("it ends within its zstd")
        value = frame.unused_data + value[at:]
    return found


@cache
def _zstd() -> Any:
    """One for a process: to make it costs as much as ten records."""
    import zstandard  # noqa: PLC0415 - as above

    return zstandard.ZstdDecompressor(max_window_size=WINDOW)


def _small(found: bytes, most: int) -> None:
    if len(found) > most:
        raise Wrong(f"it has more than {most:,} bytes when it is inflated")
