"""Leftovers: staging folders that nobody needs any more.

A repair that was cut off leaves one without a manifest. One with a manifest can be swapped in, and
undone after that: it is kept for KEPT.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.lease import holder, lease
from spark_jobs.storage.folders import newest_change, remove_folder

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.storage.root.paths import Paths

KEPT = timedelta(days=30)
"""How long a staged repair can be swapped in, or undone."""
BEGUN = timedelta(days=1)
"""How long after its last file a repair without a manifest may still be going on: between its plan
and its stage it holds no lease.
"""


class Leftover(NamedTuple):
    """A staging folder to remove."""

    folder: UPath
    why: str


def leftovers(paths: Paths, now: datetime | None = None) -> list[Leftover]:
    """The pipeline's staging folders to remove; none while a repair is computed."""
    if not paths.stagings.exists() or holder(paths.staging_lease):
        return []
    found = (_leftover(folder, now or datetime.now(UTC)) for folder in paths.stagings.iterdir())
    return sorted(each for each in found if each)


def remove_leftovers(paths: Paths, found: list[Leftover], who: str) -> None:
    """Remove them. Raises LeaseHeld if a repair has begun to be computed since."""
    with lease(paths.staging_lease, who):
        for leftover in found:
            remove_folder(leftover.folder)


def _leftover(folder: UPath, now: datetime) -> Leftover | None:
    changed = newest_change(folder)
    if changed is None or changed < now - KEPT:
        return Leftover(folder, f"it is older than {KEPT.days} days")
    if not (folder / "manifest.json").exists() and changed < now - BEGUN:
        return Leftover(folder, "it has no manifest.json: the repair was cut off")
    return None
