"""Log files: the names and the content of the files of a table's log, read without delta-rs.

While a store does not answer, other threads go on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import obstore

from spark_jobs.storage.object_store import client
from spark_jobs.storage.root.path_forms import delta_path, disk_path
from spark_jobs.storage.root.store import is_remote

if TYPE_CHECKING:
    from pathlib import Path

    from upath import UPath

LOG = "_delta_log"
PAGE = 100
"""Names that are handed over at a time; the store sends a thousand."""


class LogFiles:
    """Those of one table, on a disk or in an object store.

    Raises the errors of obstore, and RootRefused without credentials.
    """

    def __init__(self, table: UPath | str) -> None:
        folder = f"{str(table).rstrip('/')}/{LOG}"
        self._store = client(delta_path(folder)) if is_remote(folder) else None
        self._folder = disk_path(folder)

    def names(self) -> Iterator[str]:
        """Their names, in no order; none without a table."""
        if self._store is None:
            yield from _listed(self._folder)
            return
        for page in obstore.list(self._store, chunk_size=PAGE):
            yield from (each["path"] for each in page)

    def content(self, name: str) -> bytes | None:
        """What the file of that name has; None if it is gone."""
        try:
            if self._store is None:
                return (self._folder / name).read_bytes()
            return bytes(obstore.get(self._store, name).bytes())
        except FileNotFoundError:
            return None


def _listed(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            yield from (each.name for each in found)
    except (FileNotFoundError, NotADirectoryError):
        return
