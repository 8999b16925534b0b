"""Varint: a number of seven bits a byte, the first byte the lowest, of Avro and Protobuf."""

from __future__ import annotations

from typing import Final

from spark_jobs.decode.columns.column import Wrong

LONGEST: Final = 10
"""Bytes of a long number."""


def number(b: bytes, p: int) -> tuple[int, int]:
    """The unsigned number at p, and the place behind it."""
    value = shift = 0
    while True:
        byte = b[p]
        p += 1
        value |= (byte & 127) << shift
        if byte < 128:  # noqa: PLR2004 - the bit that says that more follows
            break
        shift += 7
        if shift == 7 * LONGEST:
            raise Wrong("a number is longer than 64 bits")
    if value >> 64:
        raise Wrong("a number is longer than 64 bits")
    return value, p
