"""Suspects: where in a batch the records lie that the audit has to keep, so that it need not decode all of it again."""

from __future__ import annotations

from base64 import b64decode
from typing import NamedTuple, Self

from pyspark.sql import Column, functions as F

from spark_jobs.checkpoint import Offsets
from spark_jobs.contract.spec import Pipeline
from spark_jobs.stages.fate import BAD
from spark_jobs.stateful.chain import is_late

BITS = 32_768
"""Of the bitmap that Spark's bitmap_construct_agg makes: 4 KB, whatever the batch's size."""


class Suspects(NamedTuple):
    """How a query marks them, in a bitmap that Spark observes while a batch runs.

    A bit stands for `block` offsets in a row, of any partition, and for those BITS blocks further on: what it points to holds
    every record that is to be kept, and neighbours. Late records are marked by the watermark that was in force when the query
    began; in a later batch of the query more may be late, so the marks hold for no more than that watermark.
    """

    block: int
    late_before_ms: int

    @classmethod
    def among(cls, new: Offsets, late_before_ms: int) -> Self:
        """For a query that will read so many records of each partition."""
        return cls(max(1, -(-max(new.values(), default=0) // BITS)), late_before_ms)

    def bad(self) -> Column:
        """The bit of a judged record that is to be kept for its fate; null for the others.

        A column of its own and not within the aggregate, which Spark interprets for every row.
        """
        return F.when(F.col("fate").isin(*BAD), F.expr(self._bit))

    def late(self, spec: Pipeline) -> Column:
        """The bit of a record that entered, and is late by the watermark in force when the query began; null for the others."""
        return F.when(is_late(spec, self.late_before_ms), F.expr(self._bit))

    @staticmethod
    def bitmap() -> Column:
        """Aggregate over those bits, in a column called suspect: suspects binary."""
        return F.bitmap_construct_agg("suspect").alias("suspects")

    def marked(self, bitmap: Bitmap) -> Column:
        """Which records, as the source gives them, the bitmap points to."""
        longs = ",".join(f"{word}L" for word in bitmap.words)
        return F.expr(f"getbit(element_at(array({longs}), int({self._bit} div 64) + 1), int({self._bit} % 64)) = 1")

    @property
    def _bit(self) -> str:
        return f"((kafka.offset div {self.block}) % {BITS})"


class Bitmap(NamedTuple):
    """One batch's marks."""

    words: tuple[int, ...]
    share: float
    """Of the bits that are set: about the share of the batch that is to be decoded again."""

    @classmethod
    def of(cls, *observed: str) -> Self:
        """All that is marked in any of them; each is in base64, as Spark's progress has binary values."""
        marked = 0
        for bits in observed:
            marked |= int.from_bytes(b64decode(bits))
        raw = marked.to_bytes(BITS // 8)
        words = tuple(int.from_bytes(raw[at : at + 8], "little", signed=True) for at in range(0, len(raw), 8))
        return cls(words, int.from_bytes(raw).bit_count() / BITS)
