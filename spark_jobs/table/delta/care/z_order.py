"""Z-order: puts the rows of partitions into an order in which each file has few values of each
column, and ends: without new rows the next one rewrites nothing.

delta-rs 1.6 orders all files of a partition, into files somewhat below the size that was asked for.
By size alone those are small files again. So each commit says by what it ordered, and files that
one of them wrote are left until enough others have come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from deltalake import CommitProperties

from spark_jobs.table.delta import door
from spark_jobs.table.delta.care import compaction
from spark_jobs.table.delta.delta_log import Log

if TYPE_CHECKING:
    from upath import UPath

BY: Final = "sluice.zOrder"
"""What a commit's info has: the columns."""
HALF: Final = 0.5
"""Of the size of a large file."""
SHARE: Final = 4
"""Of a partition that is larger than a file, others' files must have one part of so many: what all
Z-orders write is then some times what all batches wrote.
"""


class Due(NamedTuple):
    """A partition with something to do."""

    part: compaction.Part
    files: int
    """Those that are not large, and that no Z-order by these columns wrote."""
    whole: bool
    """Whether all its rows are put into order, else files below HALF are joined: what a Z-order
    wrote is above it, but for each one's last file.
    """


def due(path: UPath, by: tuple[str, ...]) -> list[Due]:
    """The partitions in which there is something to do."""
    table = door.open_table(path)
    target = compaction.large(table)
    parts = {p: f for p, f in compaction.files_of_parts(table).items() if len(f) > 1}
    names = (name for files in parts.values() for name, size in files.items() if size < target)
    ordered = _ordered(path, names, by)
    found = []
    for part, files in parts.items():
        small = {name: size for name, size in files.items() if size < target}
        new = [s for name, s in small.items() if not ordered.get(name, s >= target * HALF)]
        total = sum(files.values())
        much = total <= target or sum(new) > max(target, total / SHARE)
        named = all(value is not None for _, value in part)  # delta-rs cannot ask for null
        if new and much and named:
            found.append(Due(part, len(new), whole=True))
        elif _can_join(new, list(small.values()), target * HALF):
            found.append(Due(part, len(new), whole=False))
    return found


def _can_join(new: list[int], sizes: list[int], below: float) -> bool:
    """Whether there are new files to join, and two of all fit into one."""
    return len([size for size in new if size < below]) > 1 and sum(sorted(sizes)[:2]) <= below


def _ordered(path: UPath, names: Iterable[str], by: tuple[str, ...]) -> dict[str, bool]:
    """Of the files whose commit the log still has: whether a Z-order by these columns wrote it."""
    found: dict[str, bool] = {}
    if not (wanted := {*names}):
        return found
    log = Log.of(path)
    for version in sorted(log.commits, reverse=True):
        try:
            actions = log.commit(version)
        except FileNotFoundError:  # a run has cleaned the log up meanwhile, from its oldest on
            break
        mine = any(each.get("commitInfo", {}).get(BY) == ",".join(by) for each in actions)
        added = {compaction.file_name(each["add"]["path"]) for each in actions if "add" in each}
        found |= dict.fromkeys(added & wanted - found.keys(), mine)
        if len(found) == len(wanted):
            break
    return found


def put_in_order(path: UPath, by: tuple[str, ...]) -> int:
    """Do what is due; how many files it replaced. One commit a partition. Raises as
    `compaction.compact`.
    """
    done, joined = 0, []
    for part, _, whole in due(path, by):
        if not whole:
            joined.append(part)
            continue
        table = door.open_table(path)
        made = table.optimize.z_order(
            by,
            [(name, "=", value) for name, value in part] or None,
            target_size=compaction.large(table),
            commit_properties=CommitProperties(custom_metadata={BY: ",".join(by)}),
            post_commithook_properties=compaction.LEAVE_LOG,
        )
        done += int(made["numFilesRemoved"])
    below = int(compaction.large(door.open_table(path)) * HALF)
    if any(value is None for part in joined for _, value in part):
        return done + compaction.compact(path, below=below)
    for part in joined:
        only = {name: value for name, value in part if value is not None}
        done += compaction.compact(path, only, below=below)
    return done
