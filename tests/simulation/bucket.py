"""Bucket: an object store in this process, for all clients that the product has of one.

An object is a file below a folder, s3://NAME/KEY is FOLDER/NAME/KEY. What an object store has not is
not there either: no rename, no lock, no empty folder. What it has is: a put is whole or nothing, and
one with the condition that the object is absent succeeds once. delta-rs and obstore are led to the
folder, where they put as conditionally; fsspec gets a file system of its own. tests/store holds the
product against a real server.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import deltalake
import fsspec
import obstore
from fsspec.spec import AbstractFileSystem
from obstore.exceptions import PreconditionError
from obstore.store import LocalStore

from spark_jobs.storage import object_store
from spark_jobs.storage.root.store import SCHEME
from tests.simulation.places import FOLDER, one_write

Info = dict[str, Any]
LOGS = {"offsets", "commits"}
"""Of Spark: the Java classes put an entry only if it is absent."""


def folder_of(url: str) -> Path:
    """The folder of an address in the store."""
    return FOLDER / url.removeprefix(SCHEME)


def local(path: Any) -> Path:
    """Where a path of the product is, on a disk or in the store."""
    text = str(path)
    return folder_of(text) if text.startswith(SCHEME) else Path(text)


class Objects(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The store, to fsspec."""

    protocol = "s3"
    cachable = False

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """What is directly below a name."""
        folder = FOLDER / self._strip_protocol(path)
        if folder.is_file():
            found = [self.info(path)]
        else:
            found = [self.info(str(each.relative_to(FOLDER))) for each in _seen(folder)]
        if not found:
            raise FileNotFoundError(path)
        return found if detail else [each["name"] for each in found]

    def info(self, path: str, **_: Any) -> Info:
        """One object, or what lies below a name."""
        name = self._strip_protocol(path)
        file = FOLDER / name
        if file.is_file():
            about = file.stat()
            return {"name": name, "size": about.st_size, "type": "file", "mtime": about.st_mtime}
        if any(_seen(file)):
            return {"name": name, "size": 0, "type": "directory"}
        raise FileNotFoundError(path)

    def find(self, path: str, detail: bool = False, **_: Any) -> Any:
        """All objects below a name."""
        top = FOLDER / self._strip_protocol(path)
        names = [top] if top.is_file() else [each for each in top.rglob("*") if each.is_file()]
        found = {(name := str(each.relative_to(FOLDER))): self.info(name) for each in sorted(names)}
        return found if detail else [*found]

    def _open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        file = FOLDER / self._strip_protocol(path)
        if "r" in mode:
            return io.BytesIO(file.read_bytes())
        entry = file.parent.name in LOGS and file.name.isdigit()
        return _Put(file, absent=entry or "x" in mode)

    def cp_file(self, path1: str, path2: str, **_: Any) -> None:
        """One object copied."""
        content = (FOLDER / self._strip_protocol(path1)).read_bytes()
        _put(FOLDER / self._strip_protocol(path2), content)

    def rm_file(self, path: str) -> None:
        """One object removed; nothing if it is gone."""
        file = FOLDER / self._strip_protocol(path)
        with one_write(f"remove {file.name}"):
            file.unlink(missing_ok=True)

    def rm(self, path: Any, recursive: bool = False, **_: Any) -> None:
        """Several, one by one."""
        for each in [path] if isinstance(path, str) else path:
            if not recursive and not (FOLDER / self._strip_protocol(each)).is_file():
                raise FileNotFoundError(each)  # s3fs looks first
            for name in self.find(each) if recursive else [each]:
                self.rm_file(name)

    def mkdir(self, path: str, **_: Any) -> None:
        """There are no folders."""

    makedirs = mkdir

    def call_s3(self, *_: Any, **__: Any) -> Info:
        """No Hadoop was here, which would mark folders."""
        return {}


class _Put(io.BytesIO):
    """What is written becomes an object when it is closed."""

    def __init__(self, file: Path, absent: bool) -> None:
        super().__init__()
        self._file, self._absent = file, absent

    def close(self) -> None:
        if not self.closed:
            content = self.getvalue()
            super().close()
            _put(self._file, content, absent=self._absent)


def _put(file: Path, content: bytes, *, absent: bool = False) -> None:
    with one_write(f"{'create' if absent else 'put'} {file.name}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        if absent and file.exists():  # one actor runs at a time
            raise FileExistsError(file)
        file.write_bytes(content)


def _seen(folder: Path) -> Iterator[Path]:
    """What is in it, without folders that hold no object."""
    for each in folder.iterdir() if folder.is_dir() else ():
        if each.is_file() or any(below.is_file() for below in each.rglob("*")):
            yield each


def _deleted(delete: Any) -> Any:
    """S3 says nothing of an object that is gone already; a folder does."""

    def deleted(store: Any, names: Any) -> None:
        with suppress(FileNotFoundError):
            delete(store, names)

    return deleted


def _compared(put: Any) -> Any:
    """A folder's store does not put over what was read alone."""

    def compared(store: Any, name: str, content: Any, *, mode: Any = None) -> Any:
        if isinstance(mode, dict):
            if obstore.head(store, name)["e_tag"] != mode["e_tag"]:  # one actor runs at a time
                raise PreconditionError(name)
            mode = "overwrite"
        return put(store, name, content, **({"mode": mode} if mode else {}))

    return compared


@contextmanager
def in_reach() -> Iterator[None]:
    """Within the block every client finds the store."""
    made, create = deltalake.DeltaTable.__init__, deltalake.DeltaTable.create
    write, looks = deltalake.write_deltalake, deltalake.DeltaTable.is_deltatable

    def led(call: Any, *, of_table: bool = False) -> Any:
        def there(*args: Any, **more: Any) -> Any:
            at = int(of_table)
            where = str(args[at]) if len(args) > at else ""
            if where.startswith(SCHEME):
                others = [None if isinstance(each, dict) else each for each in args[at + 1 :]]
                args = (*args[:at], str(folder_of(where)), *others)
                more.pop("storage_options", None)
            return call(*args, **more)

        return there

    before = fsspec.get_filesystem_class("s3")
    fsspec.register_implementation("s3", Objects, clobber=True)
    try:
        with (
            patch.object(deltalake.DeltaTable, "__init__", led(made, of_table=True)),
            patch.object(deltalake.DeltaTable, "create", staticmethod(led(create))),
            patch.object(deltalake.DeltaTable, "is_deltatable", staticmethod(led(looks))),
            patch.object(deltalake, "write_deltalake", led(write)),
            patch.object(obstore, "delete", _deleted(obstore.delete)),
            patch.object(obstore, "put", _compared(obstore.put)),
            patch.object(
                object_store,
                "_client",
                lambda url, *_, **_more: LocalStore(str(folder_of(url)), mkdir=True),
            ),
        ):
            yield
    finally:
        fsspec.register_implementation("s3", before, clobber=True)
