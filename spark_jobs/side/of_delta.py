"""Of Delta: the versions of a Delta table, by delta-rs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from deltalake.exceptions import DeltaError

from spark_jobs.errors import DimensionUnfit
from spark_jobs.side.column_types import Declared, refuse_unfit, typed
from spark_jobs.side.versions import MOST
from spark_jobs.storage.pin import Pin
from spark_jobs.storage.root.path_forms import unprefixed
from spark_jobs.storage.root.store import opened
from spark_jobs.table.delta import door
from spark_jobs.table.delta.answer import streamed
from spark_jobs.values.own_columns import DELETED

if TYPE_CHECKING:
    import pyarrow as pa
    from upath import UPath

ABOVE: Final = "%2E%2E/"


class OfDelta(NamedTuple):
    """Of a Delta table."""

    name: str
    """The dimension's."""
    path: UPath

    def now(self) -> Pin:
        if not door.is_table(self.path):
            raise DimensionUnfit.absent(name=self.name, place=self.path)
        table = door.open_table(self.path)
        return Pin(table_id=str(table.metadata().id), version=table.version())

    def has(self, pin: Pin) -> bool:
        """See Versions: its entries, and all its files."""
        if not door.is_table(self.path):
            return False
        table = door.open_table(self.path)
        try:
            table.load_as_version(pin.version)
            if str(table.metadata().id) != pin.table_id:
                return False
        except DeltaError:
            return False
        return all(_file(self.path, table.table_uri, uri).exists() for uri in table.file_uris())

    def keep(self, pin: Pin) -> None:
        """See Versions: `sluice maintain` does, of a table of this root."""

    def read(self, pin: Pin, declared: Declared) -> pa.Table:
        """See Versions. A row that a table by key remembers as deleted is none."""
        import pyarrow as pa  # noqa: PLC0415 - what only plans reads no table

        table = door.open_table(self.path)
        try:
            table.load_as_version(pin.version)
            has = pa.schema(table.schema().to_arrow())
            refuse_unfit(self.name, self.path, {each.name: each.type for each in has}, declared)
            named = ", ".join(_quoted(each) for each in declared)
            where = (
                f" WHERE NOT coalesce({_quoted(DELETED)}, false)" if DELETED in has.names else ""
            )
            found = streamed(f"SELECT {named} FROM t{where}", {"t": table})
            batches, left = list[pa.RecordBatch](), MOST
            for batch in found:
                left -= batch.nbytes
                if left < 0:
                    raise DimensionUnfit.too_large(name=self.name, place=self.path, most=MOST)
                batches.append(batch)
            return typed(pa.Table.from_batches(batches, found.schema), declared)
        except (DeltaError, pa.ArrowException) as error:
            first = str(error).partition("\n")[0]
            raise DimensionUnfit.unreadable(name=self.name, place=self.path, error=first) from None


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _file(folder: UPath, table_uri: str, uri: str) -> UPath:
    """delta-rs escapes the folder's name, and not what is behind it; but all of a name that leads
    upwards, as a published table's does where there are no links.
    """
    begins, name = unprefixed(table_uri).rstrip("/") + "/", unprefixed(uri)
    if not name.startswith(begins):
        return opened(name)
    name = name.removeprefix(begins)
    if name.startswith(ABOVE):
        name = unquote(name)
    while name.startswith("../"):
        folder, name = folder.parent, name.removeprefix("../")
    return folder / name
