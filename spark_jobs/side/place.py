"""Place: where a table beside the stream is."""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.registry import find as registry
from spark_jobs.spec.side import SideTable
from spark_jobs.storage.root.paths import Paths


class Root(NamedTuple):
    """All that a table beside the stream asks of the settings."""

    root: str


def place_of(declared: SideTable, root: str) -> str:
    """Its folder, its URL, or the file. A pipeline's is in this root. Raises PipelineUnknown."""
    if declared.pipeline:
        return str(Paths(root, registry.load(declared.pipeline)).published_table)
    whole = declared.lies.startswith("/") or "://" in declared.lies
    return declared.lies if whole else str(registry.folder() / declared.lies)
