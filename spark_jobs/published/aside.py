"""Aside: folders moved out of the way of what begins again, as steps of a change (journal/)."""

from __future__ import annotations

import logging
import posixpath
from collections.abc import Iterable
from typing import TYPE_CHECKING

from spark_jobs.journal.change import Facts, Scene
from spark_jobs.published.data_folder import follow
from spark_jobs.storage.folders import move_folder

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.root.paths import Paths

LOG = logging.getLogger(__name__)


class Aside(Facts):
    """What goes where."""

    moves: tuple[tuple[str, str], ...]
    """Old name and new name of each folder, below the root: a root may be copied."""


def aside(paths: Paths, folders: Iterable[UPath], kept: str) -> tuple[tuple[str, str], ...]:
    """The moves of the folders that are there, each to its name with a word behind it."""
    names = (_name(paths, folder) for folder in folders if folder.exists())
    return tuple((name, f"{name}.{kept}") for name in names)


def move_folders(facts: Aside, scene: Scene) -> None:
    """Move them. What an earlier try moved is there no longer."""
    root = scene.paths.root
    for old, new in facts.moves:
        LOG.info("%s: moving %s to %s", scene.spec.name, root / old, root / new)
        move_folder(root / old, root / new, scene.held.confirm)


def lead_consumers(facts: Aside, scene: Scene) -> None:
    """Let the published table find the rows that it shows."""
    mine = _name(scene.paths, scene.paths.table)
    for old, new in facts.moves:
        if old == mine:
            follow(scene.paths, scene.paths.root / new)


def _name(paths: Paths, path: UPath) -> str:
    return posixpath.relpath(path.path, paths.root.path)
