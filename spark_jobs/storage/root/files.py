"""Atomic writes of files, on a disk and on an object store: a reader finds a whole file or none. A
newer form of a file is refused.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from spark_jobs.errors import FormatNewer
from spark_jobs.storage.root.store import is_remote, is_s3

if TYPE_CHECKING:
    from upath import UPath

AnyPath = TypeVar("AnyPath", Path, "UPath")


def write_whole(path: UPath | Path, text: str) -> None:
    """Create or replace the file.

    On an object store one put does it; on a disk the text goes to another name first.
    """
    if is_remote(str(path)):
        path.write_text(text)
        return
    with replacing(path) as partial:  # type: ignore[type-var]  # one of the two
        partial.write_text(text)


@contextmanager
def replacing(path: AnyPath, *, several: bool = False) -> Iterator[AnyPath]:
    """Yields a path beside `path`, on a disk, to write the file to.

    At the end of the block the file replaces `path`.

    Where the block fails, its file is removed and `path` stays as it was. With `several`, processes
    may write the same `path` at the same time: each writes to its own name. Without it, the next
    write overwrites what a killed one has left.
    """
    own = f".{uuid.uuid4().hex[:8]}" if several else ""
    partial = path.with_name(f".{path.name}{own}.partial")
    try:
        yield partial
        partial.rename(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def create_whole(path: UPath, text: str) -> None:
    """Create the file.

    On S3 the store refuses the second of two writers: FileExistsError. Elsewhere it replaces a
    file.

    When the answer to a put is lost, the client sends the put again, and the store refuses it
    because of its own object. So an object with the same text counts as this writer's.
    """
    if not is_s3(str(path)):
        write_whole(path, text)
        return
    try:
        with path.open("xb") as file:
            file.write(text.encode())
    except OSError as error:
        if not _is_refused(error):
            raise
        if path.read_bytes() != text.encode():
            raise FileExistsError(f"{path} was created by another writer") from error


def _is_refused(error: OSError) -> bool:
    """s3fs raises FileExistsError only for answers that Amazon's S3 gives."""
    response: dict[str, dict[str, str]] = getattr(error.__cause__, "response", {})
    return isinstance(error, FileExistsError) or response.get("Error", {}).get("Code") in {
        "PreconditionFailed",
        "412",
    }


def refuse_newer(found: object, known: int, path: str) -> None:
    """Raise FormatNewer if a newer Sluice wrote the file."""
    if isinstance(found, int) and found > known:
        raise FormatNewer.form_unknown(path=path, found=found, known=known)
