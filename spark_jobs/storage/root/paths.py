"""The paths under the root. No other module knows them; docs/architecture.md explains them.

<root>/tables/<pipeline>                          the output table of the first place
<root>/tables/<pipeline>.v<N>                     a later place's: behind a rebuild or a reset
<root>/published/<pipeline>                       its judged rows, for consumers
<root>/archive/<topic>                            the records of a topic with an archive
<root>/checkpoints/<pipeline>/lease               held by the one process that may write
<root>/checkpoints/<pipeline>/running.json        the run that holds the lease, while it works
<root>/checkpoints/<pipeline>/journal.json        the last change, and whether it has ended
<root>/checkpoints/<pipeline>/events/<n>.json     what consumers are told, by number
<root>/checkpoints/<pipeline>/staging.lease       held by the one process that stages a repair
<root>/checkpoints/<pipeline>/live.json           the live place; none before the second
<root>/checkpoints/<pipeline>/rebuild.json        the last rebuild and its place; it may be over
<root>/checkpoints/<pipeline>/v<N>                a place: all that a state version has of its own
<root>/checkpoints/<pipeline>/v<N>/spark          Spark's checkpoint before the first rewind
<root>/checkpoints/<pipeline>/v<N>/spark-<time>   that behind one; identity.json names it
<root>/checkpoints/<pipeline>/v<N>/identity.json  generation, topic id and fingerprint
<root>/checkpoints/<pipeline>/v<N>/cursor.json    the last accounted batch and passed version
<root>/checkpoints/<pipeline>/v<N>/failing.json   records on which an expression of the spec fails
<root>/checkpoints/<pipeline>/v<N>/new_keys.json  keys of records that no field names
<root>/checkpoints/<pipeline>/v<N>/state.json     what `sluice state --keep` read last
<root>/checkpoints/<pipeline>/v<N>/files.json     of a folder as a source: its files
<root>/checkpoints/<pipeline>/v<N>/rows.json      of a table as a source: its rows' numbers
<root>/checkpoints/<archive>/v<N>/removed.json    offsets that an archive lacks
<root>/staging/<table>/<repair>                   the rows of a repair before they are swapped in
<root>/ops/{runs,batches,quarantine,late,slices,checks}  Delta tables about the runs
<root>/ops/{repairs,merged,outdated}              Delta tables about the repairs
<root>/reports/<pipeline>/<run>.json              the report of each run
<root>/excised/<topic>/<id>.json                  records taken out, for all of its pipelines
<root>/sides/<digest>                             contents of files that batches looked rows up in

The place of a rebuild has lease, running.json, journal.json and staging.lease of its own, in its
folder.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.errors import RootNotWritable
from spark_jobs.spec import Pipeline
from spark_jobs.storage.root.live_place import (
    JOURNAL,
    LIVE,
    REBUILD,
    Place,
    first_table,
    place_of,
    spark_folder,
    unused,
)
from spark_jobs.storage.root.path_forms import disk_path, own_folder
from spark_jobs.storage.root.store import is_remote, opened

if TYPE_CHECKING:
    from upath import UPath

CHECKPOINTS, OPS = "checkpoints", "ops"
OPS_TABLES = (
    "runs", "batches", "quarantine", "late", "slices", "checks", "repairs", "merged", "outdated",
)  # fmt: skip


class Paths:
    """The paths of one pipeline under one root: a folder, or a URL that both fsspec and Spark can
    read.
    """

    def __init__(self, root: str, pipeline: Pipeline, place: Place | None = None) -> None:
        self.root: UPath = opened(root)
        self.pipeline = pipeline.name
        self.above: UPath = checkpoints(root, pipeline.name)
        self.state_version = pipeline.state.version
        self.is_archive = pipeline.is_archive
        self.kept_by = pipeline.layout.kept_by
        self._first = first_table(pipeline)
        self.place = place or self.place_now()
        self.tables: UPath = self.root / ("archive" if self.is_archive else "tables")
        self.table: UPath = self.tables / self.place.table
        self.published_table: UPath = self.root / "published" / pipeline.name
        self.version: UPath = self.above / self.place.folder
        self.identity: UPath = self.version / "identity.json"
        held = self.version if self.place.beside else self.above
        self.lease: UPath = held / "lease"
        self.running: UPath = held / "running.json"
        self.superseded: UPath = held / "superseded.json"
        self.journal: UPath = held / JOURNAL
        self.events: UPath = held / "events"
        self.staging_lease: UPath = held / "staging.lease"
        self.live: UPath = self.above / LIVE
        self.rebuild: UPath = self.above / REBUILD
        staged = pipeline.name + self.place.table.removeprefix(self._first)
        self.stagings: UPath = self.root / "staging" / staged
        self.cursor: UPath = self.version / "cursor.json"
        self.failing: UPath = self.version / "failing.json"
        self.new_keys: UPath = self.version / "new_keys.json"
        self.state_answer: UPath = self.version / "state.json"
        self.removed: UPath = self.version / "removed.json"

    @property
    def checkpoint(self) -> UPath:
        """Spark's, as identity.json names it now. Who works under a lease keeps the one that it has
        begun with: behind a rewind that is dead, and what comes late into it harms nothing.
        """
        return self.version / spark_folder(self.identity)

    def place_now(self) -> Place:
        """The state version's place: another than `place` behind a switch or a reset."""
        return place_of(self.above, self.state_version, self._first)

    def unused(self) -> Place:
        """One for this state version that nothing has used."""
        return unused(self.above, self.tables, self.state_version, self._first)

    def staging(self, repair_id: str) -> UPath:
        """The folder of a repair's staged rows, its plan and its manifest."""
        return self.stagings / repair_id

    def ops(self, table: str) -> UPath:
        """The path of one ops table."""
        return self.root / OPS / table

    def ensure_writable(self) -> None:
        """Create the state version's folder and write a probe into it.

        Raises RootNotWritable with the system's reason.
        """
        probe = self.version / ".writable"
        try:
            self.version.mkdir(parents=True, exist_ok=True)
            probe.write_text("")
            probe.unlink()
        except OSError as error:
            raise RootNotWritable.not_writable(
                folder=self.version, error=error.strerror or error
            ) from error


def checkpoints(root: str, pipeline: str) -> UPath:
    """The folder above a pipeline's checkpoints."""
    return opened(root) / CHECKPOINTS / pipeline


def report_path(root: str, pipeline: str, run_id: str) -> UPath:
    """The path of a run's report under the root."""
    return opened(root).joinpath(*_report(pipeline, run_id))


def local_report_path(root: str, pipeline: str, run_id: str) -> Path:
    """The path of the report on the machine that starts the run: under a local root, else in the
    machine's temporary folder, in a folder of this user alone.

    There each root has its own folder: two installations on one worker may use the same pipeline
    and run id. Raises SettingInvalid if another user may enter this user's.
    """
    if is_remote(root):
        digest = hashlib.sha256(root.encode()).hexdigest()[:12]
        folder = own_folder("reports", "reports with values of records would be there") / digest
    else:
        folder = disk_path(root)
    return folder.joinpath(*_report(pipeline, run_id))


def report_folders(root: str, pipeline: str) -> tuple[UPath | Path, ...]:
    """Where the pipeline's reports are: under the root, and on this machine if it is elsewhere."""
    under, local = report_path(root, pipeline, "any"), local_report_path(root, pipeline, "any")
    return (under.parent,) if str(under) == str(local) else (under.parent, local.parent)


def _report(pipeline: str, run_id: str) -> tuple[str, str, str]:
    """The parts of the path.

    >>> _report("flight_events", "by-hand")
    ('reports', 'flight_events', 'by-hand.json')
    """
    return "reports", pipeline, f"{_plain(run_id)}.json"


def _plain(run_id: str) -> str:
    """The run's id without characters that a shell or a URL interprets. What then is the same for
    several ids has a digest of its own id behind it.

    >>> _plain("manual__2026-01-01T10:00"), _plain("manual__2026-01-01T10+00")
    ('manual__2026-01-01T10_00-536f495e', 'manual__2026-01-01T10_00-a1df0237')
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", run_id)
    if plain == run_id:
        return plain
    return f"{plain}-{hashlib.sha256(run_id.encode()).hexdigest()[:8]}"
