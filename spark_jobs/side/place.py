"""Place: where a dimension's table is."""

from __future__ import annotations

from typing import NamedTuple

from spark_jobs.registry import find as registry
from spark_jobs.spec import Dimension
from spark_jobs.storage.root.paths import Paths


class Root(NamedTuple):
    """All that a dimension asks of the settings."""

    root: str


def place_of(declared: Dimension, root: str) -> str:
    """Its folder, its URL, or the file. A pipeline's is in this root. Raises PipelineUnknown."""
    if declared.pipeline:
        return str(Paths(root, registry.load(declared.pipeline)).published_table)
    if declared.is_file and not declared.table.startswith("/"):
        return str(registry.folder() / declared.table)
    return declared.table
