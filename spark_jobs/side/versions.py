"""Versions: what a dimension's table is asked for, be it in Delta or a file. Without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from spark_jobs.storage.pin import Pin

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.side.column_types import Declared


MOST: Final = 256_000_000
"""Bytes of the columns that are read, as Arrow has them."""
MOST_OF_A_FILE: Final = 64_000_000


class Versions(Protocol):
    """Of a table. Each may raise DimensionUnfit."""

    def now(self) -> Pin:
        """The newest."""

    def has(self, pin: Pin) -> bool:
        """Whether its rows are there."""

    def keep(self, pin: Pin) -> None:
        """See that its rows stay readable: a batch is about to read them."""

    def read(self, pin: Pin, declared: Declared) -> pa.Table:
        """Its rows, with these columns, in these types."""
