"""Lines: the overview of pipelines, from their readings and from what the small files of each
checkpoint say.

These are some twenty a pipeline, read again only where one has changed. On a disk the times of
files and folders tell whether one was written: an event is renamed into its place. A store has no
such times, so there they are read each time, several pipelines at once.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.checkpoint.sign import sign
from spark_jobs.errors import OpsUnreadable, RootRefused, RootUnreachable, unexpected
from spark_jobs.messages.report import Problem
from spark_jobs.ops.or_why import or_why
from spark_jobs.overview import tables
from spark_jobs.overview.json_of_overview import Overview, PipelineLine
from spark_jobs.overview.reading import Notes, Reading, Waits
from spark_jobs.overview.troubles import TROUBLES, order, troubles
from spark_jobs.registry import find as registry
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.live_place import FOLDER
from spark_jobs.storage.root.paths import Paths, checkpoints
from spark_jobs.storage.root.store import is_remote, opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from upath import UPath

    from spark_jobs.errors import SluiceError
    from spark_jobs.overview.reading import Due

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


def lines(root: UPath, pipelines: Sequence[str], due: Mapping[str, Due]) -> list[PipelineLine]:
    """These pipelines of one root, in no order. `due`: what Airflow knows of their DAGs. Whose file
    of an ops table is damaged is found by halves, and hides no other.

    Raises OpsUnreadable for a table that cannot be read at all; RootRefused, RootUnreachable.
    """
    if not pipelines:
        return []
    try:
        return _lines(root, pipelines, due)
    except OpsUnreadable as error:
        if error.reason != "file_broken":
            raise
        if len(pipelines) == 1:
            return [unread(pipelines[0], due.get(pipelines[0]), error)]
    half = len(pipelines) // 2
    return lines(root, pipelines[:half], due) + lines(root, pipelines[half:], due)


def unread(pipeline: str, due: Due | None, why: SluiceError | None = None) -> PipelineLine:
    """One known only by Airflow."""
    notes = Notes(problem=Problem.of(why) if why else None)
    return _line(Reading(pipeline, datetime.now(UTC), notes, due=due), known=False)


def _lines(root: UPath, pipelines: Sequence[str], due: Mapping[str, Due]) -> list[PipelineLine]:
    now = datetime.now(UTC)
    notes = all_notes(root, pipelines)
    ran = tables.ran(root, pipelines)
    late, bad = (tables.kept(root, table, pipelines) for table in ("late", "quarantine"))
    waits = tables.waits(root, notes)
    warned = tables.warned(root, {name: each.last for name, each in ran.items()})
    found = []
    for name in pipelines:
        of = Reading(
            name,
            now,
            notes[name],
            *ran[name],
            waits.get(name, Waits()),
            warned.get(name, ()),
            due.get(name),
        )
        found.append(_line(of, late[name], bad[name], known=name in waits))
    return found


def overview(found: Sequence[PipelineLine], lacking: str | None = None) -> Overview:
    """All of them, what is wrong first. `lacking`: why nothing could be read of any."""
    counts = Counter(each.name for line in found for each in line.troubles)
    return Overview(
        at=datetime.now(UTC),
        lacking=lacking,
        troubled=sum(bool(line.troubles) for line in found),
        grave=sum(any(each.grave for each in line.troubles) for line in found),
        counts={each.name: counts[each.name] for each in TROUBLES if counts[each.name]},
        pipelines=tuple(sorted(found, key=lambda line: order(line.troubles, line.pipeline))),
    )


def _line(
    of: Reading, late: int | None = None, quarantined: int | None = None, *, known: bool
) -> PipelineLine:
    waits, due = of.waits, of.due
    return PipelineLine(
        pipeline=of.pipeline,
        troubles=troubles(of),
        lacking=of.lacking,
        last=of.last,
        runs=of.marks,
        late=late,
        quarantined=quarantined,
        late_waiting=waits.late if known else None,
        quarantined_waiting=waits.quarantined if known else None,
        unpublished_batches=waits.batches if known else None,
        unpublished_rows=waits.rows if known else None,
        state_rows=waits.state_rows,
        growth=_growth(of),
        state_bytes=waits.state_bytes,
        # A paused DAG keeps the time of the run that it does not make.
        next_run=due.at if due and not due.paused else None,
        running_since=due.active_since if due else None,
        paused=due.paused if due else None,
    )


def _growth(of: Reading) -> int | None:
    # A drain that failed before it read anything knows nothing of the state, and has 0 for it.
    known = [mark for mark in of.marks if mark.status == "succeeded" or mark.read]
    rows = [mark.state_rows for mark in known if mark.state_rows is not None]
    return rows[0] - rows[-1] if rows else None
