"""Run record: a run's row in ops.runs, and the note in running.json that a run works.

The note lies above the checkpoint while the run holds the lease. A run that is killed leaves its
note. The next one finds it, and writes the row in ops.runs that the killed one could not.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.lease import Begun
from spark_jobs.errors import (
    ReportMissing,
    RootNotWritable,
    RootRefused,
    RootUnreachable,
    SluiceError,
)
from spark_jobs.messages.report import Problem, Report
from spark_jobs.ops import ops_tables
from spark_jobs.runs.failures.failed import translate_error
from spark_jobs.runs.watch.limits import StopRequest, stop_on_signals
from spark_jobs.storage.root.store import make_folder, opened

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.schema import Row
    from spark_jobs.runs.run_outcome import RunOutcome
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import SourceState
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths

LOG = logging.getLogger(__name__)
COLUMNS = {
    "pipeline",
    "run_id",
    "kind",
    "status",
    "started_at",
    "ended_at",
    "query_seconds",
    "watermark",
    "table_version",
}
"""Fields of the report that are columns of the same name."""
COUNTS = ("read", "rows_out", "duplicates", "late", "malformed", "premature", "unaccounted")
"""Fields of the report's account that are columns of the same name."""

OF_THE_ROOT = {error.code for error in (RootNotWritable, RootRefused, RootUnreachable)}
"""Problems with which no table under the root can be written: a store is not asked twice."""


def append_row(report: Report, root: str, *, beside: bool = False) -> Report:
    """The report, after its row is in ops.runs: a run that was refused has one too. `beside`: it is
    one of a rebuild, whatever its kind.

    If the row could not be written, the run fails with the error of the append. A problem that the
    run had before stays. Where the root itself is the problem, no row is tried.
    """
    if report.problem is not None and report.problem.code in OF_THE_ROOT:
        return report
    try:
        row = row_of(report)
        ops_tables.append(opened(root), "runs", [row | {"kind": "rebuild"} if beside else row])
    except Exception as error:  # noqa: BLE001 - whatever Delta or the disk threw, the report must say so
        cause = translate_error(error, report.pipeline)
        if report.problem is None:
            return report.model_copy(update={"status": "failed", "problem": Problem.of(cause)})
        LOG.warning("%s: the row in ops.runs was not written: %s", report.pipeline, cause)
    return report


def reported(
    pipeline: str,
    settings: Settings,
    stop: StopRequest | None,
    run: Callable[[StopRequest], SluiceError | None],
    report: Callable[[SluiceError | None], Report],
) -> Report:
    """The report of a run, also if it fails; its row is in ops.runs. `run` gives its problem, and
    `report` makes the report.

    SIGTERM and Ctrl-C request a stop (limits.py). A caller that handles them already passes its
    `stop`.
    """
    with nullcontext(stop) if stop else stop_on_signals() as request:
        try:
            problem = run(request)
        except Exception as error:  # noqa: BLE001 - whatever Spark, Delta or the disk threw, the report must say so
            problem = translate_error(error, pipeline)
        return append_row(report(problem), settings.root, beside=settings.next == "on")


def append_once(report: Report, root: str) -> bool:
    """Write the row of a run that did not write it itself, unless it has one: of its id, and ended
    after it began. Whether it was written.
    """
    if has_row(report.pipeline, report.run_id, report.started_at, root) is not False:
        return False
    append_row(report, root)
    return True


def has_row(pipeline: str, run_id: str, since: datetime, root: str) -> bool | None:
    """Whether ops.runs has a row of this run that ended at `since` or later; None if it cannot be
    read.
    """
    try:
        of_it = ops_tables.equals({"pipeline": pipeline, "run_id": run_id})
        rows = ops_tables.query(opened(root), "runs", f"SELECT ended_at FROM runs WHERE {of_it}")
    except Exception as error:  # noqa: BLE001 - as above
        LOG.warning("%s: ops.runs could not be read: %s", pipeline, error)
        return None
    return any(row["ended_at"] >= since for row in rows.to_pylist())


def row_of(report: Report) -> Row:
    """Its row in ops.runs."""
    return {
        **report.model_dump(include=COLUMNS),
        **{name: getattr(report.account, name) for name in COUNTS},
        "problem": report.problem.code if report.problem else None,
        "batches": len(report.batches),
        "state_rows": report.state.rows,
        "report": report.model_dump_json(),
    }


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
    make_folder(paths.running.parent)
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
    problem = ReportMissing.run_vanished(run=left.run_id, pipeline=paths.pipeline, started=started)
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
