"""Sql: queries over shared tables. One that nobody has made is empty, and is not made. Columns
that an older Sluice's table lacks are null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import deltalake
from deltalake.exceptions import DeltaError

from spark_jobs.errors import OpsUnreadable
from spark_jobs.storage.root.path_forms import delta_path
from spark_jobs.storage.root.store import translate_store_error
from spark_jobs.table.delta import door
from spark_jobs.table.delta.answer import streamed
from spark_jobs.table.shared.table import make

if TYPE_CHECKING:
    import pyarrow as pa
    from upath import UPath


class Query(NamedTuple):
    """The SQL (DataFusion's), and the tables by the names that it has for them, as they are now."""

    sql: str
    tables: Mapping[str, deltalake.DeltaTable]
    versions: tuple[tuple[str, str, int], ...]
    """Of each table its path, its id and its version; "" and -1 before it is made."""

    @classmethod
    def of(cls, sql: str, paths: Mapping[str, UPath], columns: Callable[[str], pa.Schema]) -> Query:
        """`columns` are those that the table of a name has today. Raises OpsUnreadable,
        RootRefused, RootUnreachable.
        """
        tables, older, versions = dict[str, deltalake.DeltaTable](), [], []
        for name, folder in paths.items():
            path = delta_path(folder)
            if door.is_table(path):
                with _told(path, log=f"{path}/_delta_log"):
                    stored = door.open_table(path)
                versions.append((path, str(stored.metadata().id), stored.version()))
            else:
                stored = _without_rows(columns(name))
                versions.append((path, "", -1))
            has = {field.name for field in stored.schema().fields}
            lacks = [f'NULL AS "{each}"' for each in columns(name).names if each not in has]
            tables[f"older_{name}" if lacks else name] = stored
            if lacks:
                older.append(f"{name} AS (SELECT *, {', '.join(lacks)} FROM older_{name})")
        whole = f"WITH {', '.join(older)} {sql}" if older else sql
        return cls(whole, tables, tuple(versions))

    @contextmanager
    def read(self) -> Iterator[pa.RecordBatchReader]:
        """The answer, some thousand rows after the others: of any number. Raises as `of`, within
        the block too.
        """
        there = " or ".join(path for path, _, version in self.versions if version >= 0)
        with _told(there):
            yield streamed(self.sql, self.tables)


@contextmanager
def _told(path: str, log: str = "") -> Iterator[None]:
    """Whether it was the store within the block, or damage, of the `log` or of a file: delta-rs and
    Arrow raise these.
    """
    try:
        yield
    except (DeltaError, OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        if unreachable := translate_store_error(error, path):
            raise unreachable from error
        if log:
            raise OpsUnreadable.log_broken(path=path, error=first, log=log) from error
        raise OpsUnreadable.file_broken(path=path, error=first) from error


@cache
def _without_rows(columns: pa.Schema) -> deltalake.DeltaTable:
    """In the place of one that does not exist. It is opened, and its files are gone."""
    with TemporaryDirectory() as folder:
        make(folder, columns)
        return door.open_table(folder)
