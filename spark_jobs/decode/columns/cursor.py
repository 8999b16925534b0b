"""Cursor: a place in each of many records at once, by NumPy. What it reads of a record that is not
`sure` means nothing: nothing is read outside of an array, and nobody is told why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.decode.columns.spans import Spans
from spark_jobs.decode.columns.texts import utf8
from spark_jobs.decode.columns.varint import LONGEST, MORE, numbers
from spark_jobs.values.path import Path

if TYPE_CHECKING:
    Numbers = npt.NDArray[np.uint64]
    Places = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]

SPARE: Final = 24
"""Bytes behind the last record, so that a read at its end is in the array."""
LONGEST_LENGTH: Final = 5
"""Bytes of a length or a tag."""
Found = dict[Path, "pa.Array"]
"""Path -> the column that a schema gives there; of an object true, or null."""


class Cursor:
    """The places of records whose bytes are in `data`, `SPARE` bytes shorter than it."""

    def __init__(self, data: npt.NDArray[np.uint8], begin: Places, end: Places) -> None:
        self._data = data
        self._words = np.ndarray((len(data) - 8,), "<u8", data, strides=(1,))
        self.at, self.end = begin.copy(), end
        self.sure = np.ones(len(begin), bool)

    @classmethod
    def of(cls, values: pa.Array, skipped: int) -> Self:
        """At this byte of each value."""
        _, offsets, content = (values := values.cast(pa.binary())).buffers()
        begin = np.frombuffer(offsets, np.int32)[values.offset :][: len(values) + 1]
        held = np.frombuffer(content or b"", np.uint8)[begin[0] : begin[-1]]
        data = np.concatenate([held, np.zeros(SPARE, np.uint8)])
        begin = begin.astype(np.int64) - begin[0]
        made = cls(data, begin[:-1], begin[1:])
        made.sure &= values.is_valid().to_numpy(zero_copy_only=False)
        made.skip(skipped)
        return made

    def within(self, spans: Spans) -> Cursor:
        """At the begins of spans, and up to their ends."""
        return Cursor(self._data, *spans)

    def part(self, which: Places) -> Cursor:
        """Of these records."""
        return Cursor(self._data, self.at[which], self.end[which])

    def join(self, part: Cursor, which: Places) -> None:
        """Go on to where that part is."""
        self.at[which] = part.at
        self.sure[which] &= part.sure

    def trues(self) -> pa.Array:
        """For each record: it is there."""
        return pa.array(np.ones(len(self.at), bool))

    def where(self, there: Bools, read: Callable[[Cursor, Found], None]) -> Found:
        """What `read` finds, of these records alone; null in the others."""
        which = np.flatnonzero(there)
        part, found = self.part(which), Found()
        read(part, found)
        self.join(part, which)
        spread = pa.array(np.cumsum(there) - 1, mask=~there)
        return {key: array.take(spread) for key, array in found.items()}

    def skip(self, width: Places | Numbers | int) -> None:
        """Go on by so many bytes."""
        self.at += np.asarray(width).astype(np.int64)
        if (over := self.at > self.end).any():
            self.sure &= ~over
            np.minimum(self.at, self.end, out=self.at)

    def between(self, numbers: Places, least: int, most: int) -> Places:
        """These numbers; sure are those from `least` to `most`."""
        if len(numbers) and (numbers.min() < least or numbers.max() > most):
            self.sure &= (numbers >= least) & (numbers <= most)
        return numbers

    def tags(self, which: Places) -> Places:
        """What is next in these records: a byte, or two if the first says that more follow."""
        word = self._words[self.at[which]]
        return (word & np.where(word & MORE, 0xFFFF, 0xFF).astype(np.uint64)).astype(np.int64)

    def byte(self) -> npt.NDArray[np.uint8]:
        """The next one."""
        found = self._data[self.at]
        self.skip(1)
        return found

    def word(self, width: int) -> Numbers:
        """The next eight, the first the lowest; goes on by `width` of them."""
        found: Numbers = self._words[self.at]
        self.skip(width)
        return found

    def number(self) -> Numbers:
        """Of seven bits a byte, the first the lowest, as Avro and Protobuf write them."""
        return self._number()[0]

    def content(self, *, zigzag: bool) -> Spans:
        """Bytes behind their count, which is twice as large where it is a number with a sign."""
        count, width = self._number()
        fits = np.asarray(width <= LONGEST_LENGTH)
        if zigzag:
            fits = fits & (count & 1 == 0)
            count >>= 1
        fits = fits & (count <= (self.end - self.at).astype(np.uint64))
        self.sure &= fits
        begin = self.at.copy()
        self.skip(np.where(fits, count, 0))
        return Spans(begin, self.at.copy())

    def block(self, size: int) -> Spans:
        """So many bytes."""
        begin = self.at.copy()
        self.skip(min(size, len(self._data)))  # a schema may say any
        return Spans(begin, self.at.copy())

    def _number(self) -> tuple[Numbers, Numbers]:
        """And how many bytes each has."""
        first = self._data[self.at]
        if not len(first) or first.max() < MORE:
            self.skip(1)
            return first.astype(np.uint64), np.ones(len(first), np.uint64)
        value, width = numbers(self._words, self.at)
        self.sure &= width <= LONGEST
        self.skip(width)
        return value, width

    def digits(self, spans: Spans) -> pa.Array:
        """Spans as numbers with a sign, the first byte the highest; sure are those of 1 to 8."""
        found, fits = spans.digits(self._words)
        self.sure &= fits
        return found

    def texts(self, spans: Spans) -> pa.Array:
        """Spans as texts; null, and not sure, where one is no UTF-8."""
        found = utf8(self.bytes(spans))
        if found.null_count:
            self.sure &= pc.is_valid(found).to_numpy(zero_copy_only=False)
        return found

    def bytes(self, spans: Spans) -> pa.Array:
        """Spans as bytes."""
        return spans.bytes(self._data)
