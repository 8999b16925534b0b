"""Image: a root as a kill at a failpoint leaves it: a copy, made while the process goes on.

The copy is made again until nothing was written meanwhile, so it shows one moment. It cannot show
a file that another thread had half written, nor what Spark and RocksDB hold outside of the root.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spark_jobs.storage import failpoint

PATIENCE_SECONDS = 60


@contextmanager
def image_at(place: str, root: Path, image: Path) -> Iterator[None]:
    """Within the block, the first that passes the failpoint `place` copies `root` to `image`."""

    def copy() -> None:
        failpoint.ACTIVE.pop(place, None)
        copy_at_rest(root, image)

    failpoint.ACTIVE[place] = copy
    try:
        yield
    finally:
        failpoint.ACTIVE.pop(place, None)


def copy_at_rest(root: Path, image: Path) -> None:
    """Raises TimeoutError if somebody writes for longer than PATIENCE_SECONDS."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not _copied_whole(root, image):
        shutil.rmtree(image, ignore_errors=True)
        if time.monotonic() > deadline:
            raise TimeoutError(f"{root} did not come to rest within {PATIENCE_SECONDS} s")


def files(root: Path) -> dict[str, tuple[int, int]]:
    """Every file of a tree -> its size in bytes, and when it was written, in nanoseconds."""
    found = ((path, path.stat()) for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path.relative_to(root)): (stat.st_size, stat.st_mtime_ns) for path, stat in found}


def _copied_whole(root: Path, image: Path) -> bool:
    try:
        before = files(root)
        shutil.copytree(root, image)
        return files(root) == before
    except (FileNotFoundError, shutil.Error):  # a file was renamed meanwhile
        return False
