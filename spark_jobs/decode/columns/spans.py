"""Spans: a part of each of many records, whose bytes are one behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    from spark_jobs.decode.columns.varint import Numbers, Places


class Spans(NamedTuple):
    """Each record's is behind that of the record before it."""

    begin: Places
    end: Places

    def bytes(self, data: npt.NDArray[np.uint8]) -> pa.Array:
        """All spans and what is between them are one array of Arrow's: every other one of it."""
        count = len(self.begin)
        offsets = np.empty(2 * count + 1, np.int32)
        offsets[0:-1:2], offsets[1::2] = self
        offsets[-1] = self.end[-1] if count else 0
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        every = pa.Array.from_buffers(pa.binary(), 2 * count, buffers)
        return every.take(pa.array(np.arange(0, 2 * count, 2)))

    def digits(self, words: Numbers) -> tuple[pa.Array, npt.NDArray[np.bool_]]:
        """As numbers with a sign, the first byte the highest; and which have 1 to 8 bytes. `words`
        has of each place eight, the first the lowest.
        """
        size = self.end - self.begin
        fits = (size >= 1) & (size <= 8)  # noqa: PLR2004 - of 64 bits
        word = words[self.begin].byteswap().view(np.int64)
        return pa.array(word >> np.where(fits, 64 - 8 * size, 0)), fits
