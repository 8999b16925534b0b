"""Versions: what a dimension's table is asked for, be it in Delta or a file, without Spark; and the
versions of a table that Spark and others write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from spark_jobs.errors import DimensionUnfit
from spark_jobs.side.column_types import Declared, refuse_unfit, typed
from spark_jobs.storage.pin import Pin
from spark_jobs.table.open_version import Unread
from spark_jobs.table.tables import own_table
from spark_jobs.values.own_columns import DELETED

if TYPE_CHECKING:
    import pyarrow as pa
    from upath import UPath


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


class OfTable(NamedTuple):
    """See Versions: of a table in the format of those that Sluice keeps."""

    name: str
    """The dimension's."""
    path: UPath

    def now(self) -> Pin:
        if not (table := own_table(self.path)).exists():
            raise DimensionUnfit.absent(name=self.name, place=self.path)
        newest = table.open()
        return Pin(table_id=newest.identifier(), version=newest.version)

    def has(self, pin: Pin) -> bool:
        """See Versions: its entries, and all its files."""
        if not (table := own_table(self.path)).exists():
            return False
        try:
            found = table.open(pin.version)
        except Unread:
            return False
        return found.identifier() == pin.table_id and found.is_whole()

    def keep(self, pin: Pin) -> None:
        """See Versions: `sluice maintain` does, of a table of this root."""

    def read(self, pin: Pin, declared: Declared) -> pa.Table:
        """See Versions. A row that a table by key remembers as deleted is none."""
        import pyarrow as pa  # noqa: PLC0415 - what only plans reads no table

        try:
            table = own_table(self.path).open(pin.version)
            has = {each.name: each.type for each in table.columns()}
            refuse_unfit(self.name, self.path, has, declared)
            there = f'NOT coalesce("{DELETED}", false)' if DELETED in has else "true"
            if (rows := table.read(declared, there, MOST)) is None:
                raise DimensionUnfit.too_large(name=self.name, place=self.path, most=MOST)
            return typed(rows, declared)
        except (Unread, pa.ArrowException) as error:
            first = str(error).partition("\n")[0]
            raise DimensionUnfit.unreadable(name=self.name, place=self.path, error=first) from None
