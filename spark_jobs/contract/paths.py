"""Where things lie under the root. The one place that knows; docs/architecture.md explains.

<root>/tables/<pipeline>                          the output
<root>/checkpoints/<pipeline>/lease               held by the one process that writes checkpoint and table
<root>/checkpoints/<pipeline>/moving.json          what a reset has begun to move and not ended, on an object store
<root>/checkpoints/<pipeline>/v<N>/spark          Spark's checkpoint of state version N
<root>/checkpoints/<pipeline>/v<N>/identity.json  generation, topic id and fingerprint of that checkpoint
<root>/checkpoints/<pipeline>/v<N>/cursor.json    how far the account and the checks have come
<root>/ops/{runs,batches,quarantine,late,checks}  Delta tables about the runs
<root>/reports/<pipeline>/<run>.json              what each run told whoever started it
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.contract.errors import RootNotWritable
from spark_jobs.contract.spec import Pipeline
from spark_jobs.contract.store import opened

if TYPE_CHECKING:
    from upath import UPath

OPS_TABLES = ("runs", "batches", "quarantine", "late", "checks")


class Paths:
    """The paths of one pipeline under one root. Any root that fsspec and Spark both understand."""

    def __init__(self, root: str, pipeline: Pipeline) -> None:
        self.root: UPath = opened(root)
        self.table: UPath = self.root / "tables" / pipeline.name
        self.version: UPath = self.root / "checkpoints" / pipeline.name / f"v{pipeline.state.version}"
        self.checkpoint: UPath = self.version / "spark"
        self.identity: UPath = self.version / "identity.json"
        self.lease: UPath = self.version.parent / "lease"
        self.moving: UPath = self.version.parent / "moving.json"
        self.cursor: UPath = self.version / "cursor.json"

    def ops(self, table: str) -> UPath:
        """The path of one ops table."""
        return self.root / "ops" / table

    def ensure_writable(self) -> None:
        """Make the version's folder, on a disk, and write into it. Raises RootNotWritable with the system's reason."""
        probe = self.version / ".writable"
        try:
            self.version.mkdir(parents=True, exist_ok=True)
            probe.write_text("")
            probe.unlink()
        except OSError as error:
            raise RootNotWritable(
                f"{self.version} cannot be written: {error.strerror or error}.",
                "Check SLUICE_ROOT, the permissions and the space left.",
            ) from error


def ops_path(root: str, table: str) -> UPath:
    """The path of one ops table, for readers that have no pipeline in hand.

    >>> str(ops_path("/data/sluice", "runs"))
    '/data/sluice/ops/runs'
    """
    return opened(root) / "ops" / table


def report_path(root: str, pipeline: str, run_id: str) -> UPath:
    """Where the report of a run goes, under the root, wherever that is."""
    return opened(root).joinpath(*_report(pipeline, run_id))


def local_report_path(root: str, pipeline: str, run_id: str) -> Path:
    """The same on this machine, for who reads it where the run was started: under the root where that is a local folder, else
    under this machine's temporary one.

    There each user and each root has a folder: two installations of one worker may give a run of one pipeline the same name.
    """
    local = root.removeprefix("file://")
    own = f"sluice-{os.getuid()}-{hashlib.sha256(root.encode()).hexdigest()[:12]}"
    folder = Path(tempfile.gettempdir()) / own if "://" in local else Path(local)
    return folder.joinpath(*_report(pipeline, run_id))


def _report(pipeline: str, run_id: str) -> tuple[str, str, str]:
    """Without a character that a shell or a URL minds.

    >>> _report("flight_events", "manual__2026-01-01T10:00:00+00:00")
    ('reports', 'flight_events', 'manual__2026-01-01T10_00_00_00_00.json')
    """
    return "reports", pipeline, f"{re.sub(r'[^A-Za-z0-9._-]+', '_', run_id)}.json"
