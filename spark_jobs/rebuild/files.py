"""Files: the data files of the side table, put beside those of the live one.

On a disk they are hard links, in an object store copies within it. No reader sees them before the
commit that names them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from spark_jobs.root.path_forms import disk_path
from spark_jobs.root.store import is_remote

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.storage.delta_log import Action


def put_beside(
    files: Iterable[Action], side: UPath, table: UPath, confirm: Callable[[], None]
) -> int:
    """Put each file of the side table under its own name into the table's folder; how many.

    Those that are there already are passed over. Delta's file names are random, so one of the
    same name is the same file. Raises LeaseLost by `confirm`.
    """
    put = 0
    for file in files:
        name = unquote(file["path"])
        old, new = side / name, table / name
        if new.exists():
            continue
        confirm()
        if is_remote(str(table)):
            old.fs.copy(old.path, new.path)
        else:
            _link(disk_path(old), disk_path(new))
        put += 1
    return put


def _link(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    partial = new.with_name(f".{new.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        os.link(old, partial)
    except OSError:  # a file system without links
        shutil.copyfile(old, partial)
    os.utime(partial)  # VACUUM removes old files that no version has yet
    partial.rename(new)
