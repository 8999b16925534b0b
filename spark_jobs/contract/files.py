"""Files that are there whole or not at all, on a disk and on an object store."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from spark_jobs.contract.store import is_remote, is_s3

if TYPE_CHECKING:
    from upath import UPath

AnyPath = TypeVar("AnyPath", Path, "UPath")


def write_whole(path: UPath | Path, text: str) -> None:
    """In the place of what is there. One put does it on an object store; a disk needs another name first."""
    if is_remote(str(path)):
        path.write_text(text)
        return
    with replacing(path) as partial:  # type: ignore[type-var]  # one of the two
        partial.write_text(text)


@contextmanager
def replacing(path: AnyPath, *, several: bool = False) -> Iterator[AnyPath]:
    """A name beside `path`, on a disk, to write a file to; at the end of the block the file takes the place of `path`.

    Where the block fails, what it wrote is removed, and `path` stays as it was. With `several`, processes may write the same
    `path` at once, and each has a name of its own; else what a kill left behind is written over by the next.
    """
    own = f".{uuid.uuid4().hex[:8]}" if several else ""
    partial = path.with_name(f".{path.name}{own}.partial")
    try:
        yield partial
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


def create_whole(path: UPath, text: str) -> None:
    """Where nothing is. On S3 the store itself refuses the second of two: FileExistsError.

    A put whose answer was lost is sent again, and refused by its own object: what says the same is taken for this one's.
    """
    if not is_s3(str(path)):
        write_whole(path, text)
        return
    try:
        with path.open("xb") as file:
            file.write(text.encode())
    except OSError as error:
        if not _finds_one(error):
            raise
        if path.read_bytes() != text.encode():
            raise FileExistsError(f"{path} was put by another writer meanwhile") from error


def _finds_one(error: OSError) -> bool:
    """Whether it refused since there is one. s3fs says so only where the answer names the condition, as Amazon's does."""
    response: dict[str, dict[str, str]] = getattr(error.__cause__, "response", {})
    return isinstance(error, FileExistsError) or response.get("Error", {}).get("Code") in {"PreconditionFailed", "412"}
