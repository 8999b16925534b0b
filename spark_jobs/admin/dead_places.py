"""Dead places: what a switch, its way back, a reset or a rewind has left, removed after days of
grace.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.live import GRACE, Dead, read_begun, read_live
from spark_jobs.storage.folders import remove_folder
from spark_jobs.storage.root.live_place import SPARK, STAMP
from spark_jobs.table.published.table import has_shown

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


def dead_places(paths: Paths, now: datetime) -> list[Dead]:
    """Those to remove: dead for so long, and none that consumers may still read, or in which a
    rebuild works. None while a rebuild is looked at.
    """
    fact, rebuild = read_live(paths), read_begun(paths)
    if fact is None or paths.place.beside:
        return []
    beside = rebuild.folder if rebuild else None
    return [
        each
        for each in fact.dead
        if each.since < now - GRACE
        and each.folder != beside
        and not has_shown(paths, paths.tables / each.table, now - GRACE)
    ]


def dead_checkpoints(paths: Paths, now: datetime) -> list[UPath]:
    """The folders that rewinds and repartitions have left, if none has begun for so long, nor is
    live for less. One that began before identity.json named the live one never comes to live: who
    finds another identity than it was planned with does not begin. None that began behind that:
    then identity.json is a copy of before.
    """
    known, since = read_identity(paths), f"{SPARK}-{now - GRACE:{STAMP}}"
    found = [*paths.version.glob(f"{SPARK}*")]
    if known is None or any(each.name > since for each in found):
        return []
    if known.since is not None and known.since > now - GRACE:
        return []
    named = known.spark if known.since is None else f"{SPARK}-{known.since:{STAMP}}"
    return [each for each in found if each.name <= named and each.name != known.spark]


def remove_place(paths: Paths, dead: Dead, held: Held) -> None:
    """Remove what is its own, then its name in live.json. Nothing of a place that is dead no more
    as it was. Raises LeaseLost.
    """
    fact, rebuild = read_live(paths), read_begun(paths)
    if fact is None or (rebuild and rebuild.folder == dead.folder):
        return
    if dead not in fact.dead or dead.folder in {fact.place("").folder, paths.place.folder}:
        return
    others = [each for each in fact.dead if each.folder != dead.folder]
    folder = paths.above / dead.folder
    held.confirm()
    # First: without it nobody goes back to what a kill has left of the folder.
    (folder / paths.identity.name).unlink(missing_ok=True)
    remove_folder(folder)
    # An archive's table is that of several places, and a table of before there were places too.
    if dead.table not in {fact.table, paths.table.name, *(each.table for each in others)}:
        remove_folder(paths.tables / dead.table)
        remove_folder(paths.root / "staging" / dead.table)
    fact.model_copy(update={"dead": tuple(others)}).write_whole(paths.above, held)
