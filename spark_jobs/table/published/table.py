"""Published table: a second Delta table, of the rows that passed the checks and nothing else.

It has a log and no data: its entries name the files of the pipeline's table. The task `publish`
moves it from one judged version to the next, in few commits (parts.py); each says what it shows. So
a move that was killed goes on from there, and one that is repeated, or made by two processes,
changes nothing.

On a disk its folder has a symbolic link to the pipeline's table, so the names are relative and lead
downward, and every reader opens them. Its name begins with an underscore: VACUUM leaves such
folders alone. An object store has no links; there the names lead through `..`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError

from spark_jobs.errors import PublishedTableRefused
from spark_jobs.storage import failpoint
from spark_jobs.storage.root.path_forms import disk_path
from spark_jobs.storage.root.store import is_remote
from spark_jobs.table.delta.delta_log import Log, Replay, file_key, only_rearranges
from spark_jobs.table.delta.door import is_table, open_table
from spark_jobs.table.published.commit import (
    CHECKPOINT_EVERY,
    OWNER,
    Content,
    Proved,
    Shown,
    actions,
    as_new,
    as_removed,
    no_file,
    seen,
)
from spark_jobs.table.published.parts import Part, in_one, next_part
from spark_jobs.table.tables import own_table, table_of
from spark_jobs.values.times import at_milliseconds

if TYPE_CHECKING:
    from upath import UPath

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


class Target(NamedTuple):
    """What the published table is to show."""

    log: Log
    table_id: str
    version: int


def target(paths: Paths, judged: int) -> Target:
    """The judged version of the pipeline's table; or a later one with the same rows in other files
    (OPTIMIZE), since VACUUM removes the files that they were in. Behind a RESTORE it removes these
    others.

    Raises PublishedTableRefused if there is no such version.
    """
    log = Log.of(paths.table)
    if log.newest < judged:
        raise PublishedTableRefused.judged_version_gone(
            table=paths.table, judged=judged, pipeline=paths.pipeline
        )
    version = judged
    while version + 1 in log.commits and _rearranged(log, version + 1):
        version += 1
    return Target(log, table_of(paths).identifier(), version)


def _rearranged(log: Log, version: int) -> bool:
    actions = log.commit(version)
    if not only_rearranges(actions) or not log.has(version, log.newest):
        return False
    live = log.replay(log.newest, since=version).added
    return not any(file_key(each["remove"]) in live for each in actions if "remove" in each)


def behind(paths: Paths, judged: int) -> bool:
    """Whether the published table does not show this version yet."""
    return not _shows(newest_shown(Log.of(paths.published_table)), target(paths, judged))


def move(
    paths: Paths, judged: int, lives: Callable[[Paths], None], *, at_once: bool = False
) -> bool:
    """Show the rows of this version of the pipeline's table. False if it shows them already, or a
    later version's.

    `lives` raises VersionNotLive where the place is dead. `at_once`: in one commit, because the
    versions before it are nobody's to read.

    Raises PublishedTableRefused; VersionNotLive if a switch or a reset has come.
    """
    wanted = target(paths, judged)
    data = reachable(paths, wanted.table_id)
    take, read, moved = in_one if at_once else next_part, cache(wanted.log.commit), False
    while True:
        own = Log.of(paths.published_table)
        # In this order: whoever shows the table of another place has committed behind that place's
        # turn. So either it is seen here, or its commit is behind this log, and ours is refused.
        lives(paths)
        shown = newest_shown(own)
        if _shows(shown, wanted):
            return moved
        if shown is not None and _goes_on(wanted, shown, data):
            part = take(read, shown.version, shown.ahead, wanted.version)
            version, ahead, content = part.version, part.ahead, _continued(part, shown)
            proved = shown.proved.without(wanted.log, shown.version, max((version, *ahead)))
            if proved != shown.proved and content.metadata is None:
                content = content._replace(metadata=own.replay(own.newest).metadata)
        else:
            version, ahead, content = wanted.version, (), _compared(paths, wanted, own, data)
            proved = Proved()
        mark = Shown(
            table_id=wanted.table_id, version=version, ahead=ahead, data=data,
            own_id=content.own_id, proved=proved,
        )  # fmt: skip
        if own.put(own.newest + 1, [*actions(content, mark, paths.pipeline)]):
            add_checkpoint(paths.published_table, own)
            moved = True
            if version < wanted.version:
                failpoint.at("showing")


def _shows(shown: Shown | None, wanted: Target) -> bool:
    return bool(shown and shown.table_id == wanted.table_id and shown.version >= wanted.version)


def versions_shown(paths: Paths, since: datetime) -> set[int]:
    """The versions of the pipeline's table that the published table has shown from `since` on:
    readers may be at them.
    """
    shown = list(_shown_since(paths, since))
    now = table_of(paths).identifier() if shown else ""
    ours = (mark for mark in shown if mark.table_id == now)
    return {version for mark in ours for version in (mark.version, *mark.ahead)}


def versions_read(paths: Paths, pins: Iterable[tuple[str, int]]) -> set[int]:
    """The versions of the pipeline's table that these are: an id and a version, of itself or of the
    published table, which shows some of it.
    """
    if not (wanted := {*pins}):
        return set()
    now, own = table_of(paths).identifier(), Log.of(paths.published_table)
    found = {version for table_id, version in wanted if table_id == now}
    for number in own.commits:
        mark = _mark(own, number)
        if mark and mark.table_id == now and (mark.own_id, number) in wanted:
            found |= {mark.version, *mark.ahead}
    return found


def read_since(paths: Paths, pins: Iterable[tuple[str, int]]) -> datetime | None:
    """When the oldest of these versions of the published table was made; None if none is its own,
    or its log has none of them any more.
    """
    own, wanted = Log.of(paths.published_table), {*pins}
    for number in sorted(own.commits):
        mark = _mark(own, number)
        if mark and (mark.own_id, number) in wanted:
            return at_milliseconds(own.commit(number)[0].get("commitInfo", {}).get("timestamp", 0))
    return None


def has_shown(paths: Paths, table: UPath, since: datetime) -> bool:
    """Whether it has shown rows of this table from `since` on."""
    shown = {mark.table_id for mark in _shown_since(paths, since)}
    return bool(shown) and is_table(table) and own_table(table).identifier() in shown


def _shown_since(paths: Paths, since: datetime) -> Iterator[Shown]:
    own = Log.of(paths.published_table)
    for number in sorted(own.commits, reverse=True):
        if mark := _mark(own, number):
            yield mark
        made_ms = own.commit(number)[0].get("commitInfo", {}).get("timestamp", 0)
        if made_ms <= since.timestamp() * 1000:
            break


def newest_shown(own: Log) -> Shown | None:
    """What the published table of this log shows; None if it says nothing."""
    return _mark(own, own.newest) if own.newest in own.commits else None


def _mark(own: Log, number: int) -> Shown | None:
    said = own.commit(number)[0].get("commitInfo", {}).get("userMetadata") or ""
    try:
        return Shown.model_validate_json(said)
    except ValidationError:
        return None


def _goes_on(wanted: Target, shown: Shown, data: str) -> bool:
    """Whether the commits since the version that is shown tell what is new: else everything must be
    compared.
    """
    same = (shown.table_id, shown.data) == (wanted.table_id, data)
    return same and wanted.log.has(shown.version, wanted.version)


def _continued(part: Part, shown: Shown) -> Content:
    since = part.done
    added = [located(file, shown.data) for file in seen(since.added.values())]
    removed = [located(file, shown.data) for file in seen(since.removed.values())]
    if since.rewritten:
        added, removed = [*map(as_new, added)], [*map(as_new, removed)]
    if part.repairs and not removed:
        removed = [no_file()]
    return Content(shown.own_id, since.metadata, since.protocol, added, removed)


def _compared(paths: Paths, wanted: Target, own: Log, data: str) -> Content:
    """Whatever the published table shows now. Raises PublishedTableRefused."""
    try:
        whole = wanted.log.replay(wanted.version)
        now = own.replay(own.newest) if own.newest >= 0 else Replay()
    except LookupError as error:
        raise PublishedTableRefused.judged_file_gone(
            wrong=error.args[0], published=paths.published_table
        ) from None
    if now.metadata and OWNER not in now.metadata.get("configuration", {}):
        raise PublishedTableRefused.foreign_table(published=paths.published_table)
    own_id = str(now.metadata["id"]) if now.metadata else str(uuid.uuid4())
    there = (located(file, data) for file in seen(whole.added.values()))
    files = {file_key(file): file for file in there}
    return Content(
        own_id,
        whole.metadata,
        whole.protocol,
        [as_new(file) for key, file in files.items() if key not in now.added],
        [as_removed(file) for key, file in now.added.items() if key not in files],
    )


def add_checkpoint(path: UPath, before: Log) -> None:
    """A checkpoint of the log, if it is due. Removes what has expired too."""
    if before.newest + 1 - max(before.checkpoints, default=0) >= CHECKPOINT_EVERY:
        published = open_table(path)
        published.create_checkpoint()
        published.cleanup_metadata()
