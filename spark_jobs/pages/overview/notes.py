"""Notes: what the small files of each checkpoint say, read again only where one has changed.

They are some twenty a pipeline. On a disk the times of files and folders tell whether one was
written: an event is renamed into its place. A store has no such times, so there they are read each
time, several pipelines at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.checkpoint.sign import sign
from spark_jobs.errors import RootRefused, RootUnreachable, unexpected
from spark_jobs.journal.begun import under_way
from spark_jobs.messages.report import Problem
from spark_jobs.ops.or_why import or_why
from spark_jobs.pages.overview.reading import Notes
from spark_jobs.registry import find as registry
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.live_place import FOLDER
from spark_jobs.storage.root.paths import Paths, checkpoints
from spark_jobs.storage.root.store import is_remote, opened

if TYPE_CHECKING:
    from upath import UPath

AT_ONCE: Final = 16
"""Pipelines of a store."""
YOUNG_SECONDS: Final = 2.0
"""A folder's time may be the same behind a second write, if that comes at once."""
Seen = tuple[tuple[str, int, int], ...]
_KEPT: dict[tuple[str, str], tuple[Seen, Notes]] = {}
"""(root, pipeline) -> what it was read from. There are as many as pipelines."""


def all_notes(root: UPath, pipelines: Iterable[str]) -> Mapping[str, Notes]:
    """Pipeline -> its notes. One whose files cannot be read says why, and hides no other."""
    names, where = [*pipelines], str(root)
    if not is_remote(where):
        return {name: _kept(where, name) for name in names}
    for name in names:  # imports are not for several threads
        with suppress(Exception):
            _spec(name, _code(name))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(names, pool.map(partial(_read, where), names), strict=True))


def _kept(root: str, name: str) -> Notes:
    seen = _seen(root, name)
    known = _KEPT.get((root, name))
    if known is not None and known[0] == seen:
        return known[1]
    found = _read(root, name)
    newest = max((written for _, written, _ in seen), default=0)
    if found.change or found.problem or time.time_ns() - newest < YOUNG_SECONDS * 1e9:
        _KEPT.pop((root, name), None)  # the next look may find more
    else:
        _KEPT[root, name] = seen, found
    return found


def _seen(root: str, name: str) -> Seen:
    above = str(checkpoints(root, name))
    found = _entries(above)
    places = [entry for entry in found if FOLDER.fullmatch(entry[0])]
    inner = [each for place, *_ in places for each in _entries(f"{above}/{place}")]
    return (*_code(name), *found, *inner)


def _code(name: str) -> Seen:
    folder = str(registry.logic_path(name).parent)
    return ((folder, 0, 0), *_entries(folder))


@lru_cache(maxsize=1000)
def _spec(name: str, seen: Seen) -> Pipeline:  # noqa: ARG001 - another one where a file has changed
    return registry.load(name)


def _entries(folder: str) -> list[tuple[str, int, int]]:
    try:
        with os.scandir(folder) as found:
            stats = [(each.name, each.stat()) for each in found]
    except OSError:
        return []  # who reads it says why
    return sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


def _read(root: str, name: str) -> Notes:
    read = list[Pipeline]()

    def asked() -> Notes:
        read.append(_spec(name, _code(name)))
        read.append(live_spec(read[0], root))
        return _of(read[-1], Paths(root, read[-1]))

    try:
        found = or_why(opened(root), asked)
    except (OSError, RootRefused, RootUnreachable):
        raise  # of the store: of all of them
    except Exception as error:  # noqa: BLE001 - whatever is wrong with one, the others are shown
        found = unexpected(error)
    if isinstance(found, Notes):
        return found
    return Notes(read[-1] if read else None, problem=Problem.of(found))


def _of(spec: Pipeline, paths: Paths) -> Notes:
    identity = read_identity(paths)
    if identity is None:
        return Notes(spec)
    told, change = read_published(paths), under_way(paths)
    ours = told.generation in {"", *identity.generations}
    version = told.table_version if ours else None
    return Notes(
        spec,
        tuple(identity.generations),
        -1 if version is None else version,
        change,
        held=change is not None and sign(paths.lease, datetime.now(UTC)).life != "gone",
    )
