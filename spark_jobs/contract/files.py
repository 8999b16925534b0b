"""Files under the root that are there whole or not at all, on a disk and on an object store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.contract.store import is_remote, is_s3

if TYPE_CHECKING:
    from upath import UPath


def write_whole(path: UPath | Path, text: str) -> None:
    """In the place of what is there. One put does it on an object store; a disk needs another name first."""
    if is_remote(str(path)):
        path.write_text(text)
        return
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text)
    partial.rename(path)


def create_whole(path: UPath, text: str) -> None:
    """Where nothing is. On S3 the store itself refuses the second of two: FileExistsError."""
    if is_s3(str(path)):
        with path.open("xb") as file:
            file.write(text.encode())
        return
    write_whole(path, text)
