"""Open version: one version of a table, and a commit to it, refused behind any other one: without
Spark; and by Spark, for rows that the driver should not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from spark_jobs.values.own_columns import own

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.dataset import Scanner
    from pyspark.sql import DataFrame

    from spark_jobs.table.entry import Note

FILE: Final = own("file")
"""The file of a row."""


class Size(NamedTuple):
    """Rows of a table that follows a key, as its log says."""

    live: int
    remembered: int
    """Deletes."""
    bytes: int = 0
    """Of the files."""

    @property
    def all(self) -> int:
        return self.live + self.remembered


class Merge(NamedTuple):
    """Rows to merge by their key: the table's columns, and WHOLE boolean. true: the row comes, or
    is replaced whole; false: `anew` alone are; null: the row at this key goes.
    """

    rows: pa.Table
    key: tuple[str, ...]
    anew: tuple[str, ...]
    newest: str = ""
    """The column by which a row counts that has not ended; only these and deletes are met. Empty:
    all are.
    """


class Said(NamedTuple):
    """What a commit says of itself."""

    note: Mapping[str, Any]
    by: str
    """Its transaction."""
    number: int = 0


class Overtaken(Exception):
    """Other writers were faster, each time that it was tried."""


class Unwritten(Exception):
    """The table does not take what is written; the text says why."""


class Unread(LookupError):
    """The version is gone, or cannot be read; the text says why."""


class Opened(Protocol):
    """A version without Spark."""

    version: int

    def identifier(self) -> str:
        """As the table's."""

    def is_whole(self) -> bool:
        """Whether each of its files is there, wherever it is."""

    def columns(self) -> pa.Schema:
        """As Arrow has them."""

    def ask(self, sql: str) -> pa.RecordBatchReader:
        """The answer to SQL (DataFusion's) over its rows as t, part by part, in the order in
        which files have them. It may be asked while another table is written.
        """

    def read(self, columns: Iterable[str], where: str, most: int) -> pa.Table | None:
        """These columns of its rows for which the SQL holds, in memory; None if they have more than
        `most` bytes there. Raises Unread.
        """

    def number(self, by: str) -> int | None:
        """Of that transaction's newest commit."""

    def size(self) -> Size | None:
        """None if the log does not tell of each file."""

    def untried(self) -> Sequence[str]:
        """As the table's, of a merge."""

    def scan(self, columns: Iterable[str]) -> Scanner:
        """These columns of its rows, batch by batch."""

    def overwrite(self, rows: pa.Table, where: str, said: Said) -> None:
        """Replace the rows for which the condition holds by these, for which it holds too."""

    def merge(self, merge: Merge, said: Said) -> None:
        """Without a row, a commit that says this alone."""


class OpenedBySpark(Protocol):
    """A version as Spark reads it and replaces its rows."""

    @property
    def has_rows(self) -> bool:
        """Whether it has a file."""

    @property
    def rows(self) -> DataFrame:
        """Its rows, each with FILE."""

    def put(
        self, new: DataFrame, keys: Sequence[str], anew: Sequence[str], note: Callable[[], Note]
    ) -> None:
        """Commit these rows: the columns of `rows`, and WHOLE. FILE of each is that of the row with
        its key; null where there is none. Where WHOLE is false, that row stays but for the columns
        `anew`. They are cached; rows of an empty table are read once, and `note` is asked then.
        """
