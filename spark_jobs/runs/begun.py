"""Begun: a note that a run works, in running.json above the checkpoint while it holds the lease.

A run that is killed leaves its note. The next one finds it, and writes the row in ops.runs that the
killed one could not.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.notes.begun import Begun
from spark_jobs.errors import ReportMissing, SluiceError
from spark_jobs.messages.report import Report
from spark_jobs.runs.run_record import append_once
from spark_jobs.storage.root.store import is_remote

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.runs.run_outcome import RunOutcome
    from spark_jobs.source.port import SourceState
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths

LOG = logging.getLogger(__name__)


class Note:
    """The note of this run."""

    def __init__(self, path: UPath, content: Begun) -> None:
        self._path = path
        self._content = content

    def reads(self, topic: SourceState, held: Held) -> None:
        """Say up to which offsets it reads, for who looks on. The run does not need it: if it
        cannot be written, nothing is wrong with the run.
        """
        known = {"begins": topic.begins, "ends": topic.latest}
        with suppress(Exception):
            self._content.model_copy(update=known).over(self._path).put(self._path, held)


@contextmanager
def begun(paths: Paths, outcome: RunOutcome) -> Iterator[Note]:
    """Leave the note of this run within the block, which holds the lease; before it, the row of the
    run whose note is there.
    """
    _record_killed(paths)
    if not is_remote(str(paths.running)):  # an object store has no folders
        paths.running.parent.mkdir(parents=True, exist_ok=True)
    note = Begun(
        kind="rebuild" if paths.place.beside else outcome.kind,
        run_id=outcome.run_id,
        started_at=outcome.started_at,
        pid=os.getpid(),
        host=socket.gethostname(),
    )
    note.write(paths.running)
    try:
        yield Note(paths.running, note)
    finally:
        # A note that stays does no harm. An error here would take the place of the run's own.
        with suppress(Exception):
            if Begun.read(paths.running).is_of(note):  # one that lost its lease finds another's
                paths.running.unlink()


def _record_killed(paths: Paths) -> None:
    """Write the row of a run that left its note, unless who started it has."""
    left = _read(paths)
    if left is None:
        return
    started = f"{left.started_at:%Y-%m-%d %H:%M:%S} UTC, process {left.pid} on {left.host}"
    problem = ReportMissing.run_vanished(
        run=left.run_id,
        pipeline=paths.pipeline,
        started=started,
    )
    # It has ended when that was found: nobody knows more.
    report = Report.of_failure(left.kind, paths.pipeline, left.run_id, problem, left.started_at)
    if append_once(report, str(paths.root)):
        LOG.warning("%s", problem.what)


def _read(paths: Paths) -> Begun | None:
    try:
        return Begun.read(paths.running) if paths.running.exists() else None
    except (ValueError, SluiceError) as error:  # damaged, or a newer Sluice's
        LOG.warning("%s says of no run that it was killed: %s", paths.running, error)
        return None
