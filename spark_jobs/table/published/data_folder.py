"""Data folder: how the published table's entries name the data files of the pipeline's table.

On a disk the published table's folder has a symbolic link to the pipeline's table, so the names are
relative and lead downward, and every reader opens them. Its name begins with an underscore: VACUUM
leaves such folders alone. An object store has no links; there the names lead through `..`.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.storage.root.path_forms import disk_path
from spark_jobs.storage.root.store import is_remote

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths
    from spark_jobs.table.delta.delta_log import Action

LINK = "_rows-"
"""The beginning of a link's name."""
VECTOR_ID = 20
"""Characters of a deletion vector's id; those before them are a folder (Delta's protocol)."""


def reachable(paths: Paths, table_id: str) -> str:
    """The folder of the table's files, from the published table's folder. Makes the link, if there
    can be one.
    """
    if is_remote(str(paths.root)):
        return _leads_to(paths.table.name)
    try:
        _lead(disk_path(paths.published_table) / _name(table_id), paths.table.name)
    except OSError:  # a file system without links
        return _leads_to(paths.table.name)
    return _name(table_id)


def located(file: Action, data: str) -> Action:
    """An add or a remove of the pipeline's table, as an entry of the published table."""
    found = dict(file)
    if "://" not in file["path"] and not file["path"].startswith(("/", "file:")):
        found["path"] = f"{data}/{file['path']}"
    vector = file.get("deletionVector")
    if vector and vector["storageType"] == "u":  # a file beside the table's data
        stored = vector["pathOrInlineDv"]
        folder = "/".join(filter(None, (data, stored[:-VECTOR_ID])))
        found["deletionVector"] = {**vector, "pathOrInlineDv": folder + stored[-VECTOR_ID:]}
    return found


def _name(table_id: str) -> str:
    """One name for each table: entries of a table that was moved keep leading to it."""
    return f"{LINK}{table_id[:8]}"


def _leads_to(table: str) -> str:
    return f"../../tables/{table}"


def _lead(link: Path, table: str) -> None:
    if link.is_symlink() and link.readlink() == Path(_leads_to(table)):
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    partial = link.with_name(f".{link.name}.{uuid.uuid4().hex[:8]}")
    partial.symlink_to(_leads_to(table), target_is_directory=True)
    partial.rename(link)
