"""Compressed decoder: inflates each value, and leaves what is in it to the decoder of its format.

A value of some bytes may become gigabytes: it is inflated no further than declared.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.decode.columns.column import Wrong
from spark_jobs.decode.formats import Decoded, Records, decoder_class

if TYPE_CHECKING:
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Compressed, Topic
    from spark_jobs.spec.fields.place import Place

GZIP: Final = 31
"""zlib's window bits: gzip's header and no other."""
WINDOW: Final = 2**27
"""The most memory that a value of zstd may ask for, in bytes."""
PIECE: Final = {"gzip": 2**14, "zstd": 128}
"""Bytes that are given at a time. Of zstd: one of its blocks has three at least, and 128 KB at most
when it is inflated. gzip itself stops at a length.
"""
MEMBERS: Final = 1_000
"""Members of gzip, or frames of zstd, that one value may have: an empty one has ten bytes."""
PART: Final = 16_000_000
"""Inflated bytes that are decoded at a time, beside one value: rows of them take several times as
much, and an Arrow batch is of one part.
"""


class CompressedDecoder:
    """As the port has it."""

    def __init__(
        self, format_: Compressed, places: Sequence[Place], wanted: Sequence[str], given: Any
    ) -> None:
        self._inner = decoder_class(format_.format)(format_.format, places, wanted, given)
        self._inflate = INFLATE[format_.by]
        self._by, self._most = format_.by, format_.at_most

    @staticmethod
    def refuse(format_: Compressed, topic: Topic, places: Sequence[Place]) -> None:
        """As that of the format in it."""
        if inner := getattr(decoder_class(format_.format), "refuse", None):
            inner(format_.format, topic, places)

    @staticmethod
    def prepare(format_: Compressed, topic: Topic, root: str, settings: Settings | None) -> Any:
        """As that of the format in it."""
        inner = format_.format
        return decoder_class(inner).prepare(inner, topic, root, settings)

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs none

        values, wrong, left = list[bytes | None](), dict[int, str](), PART
        for index, packed in enumerate(records.values):
            value: bytes | None = packed.as_py()
            if value:
                try:
                    value = self._inflate(value, self._most)
                except Wrong as error:
                    wrong[index], value = str(error), b""
                left -= len(value)
            values.append(value)
            if left <= 0:
                break
        part = records.first(len(values))._replace(values=pa.array(values, pa.binary()))
        found = self._inner.decode(part)
        reasons = [wrong.get(index, reason) for index, reason in enumerate(found.reasons)]
        return Decoded(found.columns, reasons)


def gunzip(value: bytes, most: int) -> bytes:
    """One gzip member after the other (RFC 1952). Raises Wrong."""
    return _inflated(
        "gzip",
        value,
        most,
        lambda: zlib.decompressobj(GZIP),
        lambda member, piece, left: member.decompress(piece, left),
    )


def unzstd(value: bytes, most: int) -> bytes:
    """One frame of zstd after the other (RFC 8878). Raises Wrong."""
    import zstandard  # noqa: PLC0415 - most topics need none

    try:
        size = zstandard.frame_content_size(value)
        if 0 < size <= most:
            return bytes(_zstd().decompress(value, allow_extra_data=False))
    except zstandard.ZstdError:
        pass  # of several frames, or malformed: which?
    return _inflated(
        "zstd",
        value,
        most,
        lambda: _zstd().decompressobj(),
        lambda frame, piece, _: frame.decompress(piece),
    )


INFLATE: Final = {"gzip": gunzip, "zstd": unzstd}
"""By the format's `by`: the function (value, most) that gives the bytes, or raises Wrong."""


def _inflated(
    by: str,
    value: bytes,
    most: int,
    member: Callable[[], Any],
    inflate: Callable[[Any, memoryview, int], bytes],
) -> bytes:
    """All members of a value. `inflate` gets one, the next piece, and how many bytes may come."""
    import zstandard  # noqa: PLC0415 - as above

    found, rest, at, members = bytearray(), memoryview(value), 0, 0
    while at < len(value):
        members += 1
        if members > MEMBERS:
            raise Wrong(f"it has more than {MEMBERS:,} members of {by}")
        one = member()
        while not one.eof and at < len(value):
            piece = rest[at : at + PIECE[by]]
            try:
                found += inflate(one, piece, most + 1 - len(found))
            except (zlib.error, zstandard.ZstdError) as error:
                raise Wrong(f"it is no {by}: {str(error)[:80]}") from None
            if len(found) > most:
                raise Wrong(f"it has more than {most:,} bytes when it is inflated")
            at += len(piece) - len(one.unused_data)
        if not one.eof:
            raise Wrong(f"it ends within its {by}")
    return bytes(found)


@cache
def _zstd() -> Any:
    """One for a process: to make it costs as much as ten records."""
    import zstandard  # noqa: PLC0415 - as above

    return zstandard.ZstdDecompressor(max_window_size=WINDOW)
