"""Place: where a table beside the stream is."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from spark_jobs.registry import find as registry
from spark_jobs.spec.side import SideTable
from spark_jobs.storage.root.paths import Paths


class Rooted(Protocol):
    """All that a table beside the stream asks of the settings."""

    @property
    def root(self) -> str:
        """Of the installation."""


class Root(NamedTuple):
    """Of who has no settings."""

    root: str


def maker_of(declared: SideTable, root: str) -> Paths | None:
    """The paths of the pipeline of this root that publishes it; None where it lies elsewhere.
    Raises PipelineUnknown.
    """
    return Paths(root, registry.load(declared.pipeline)) if declared.pipeline else None


def place_of(declared: SideTable, root: str) -> str:
    """Its folder, its URL, or the file. A pipeline's is in this root. Raises PipelineUnknown."""
    if maker := maker_of(declared, root):
        return str(maker.published_table)
    whole = declared.lies.startswith("/") or "://" in declared.lies
    return declared.lies if whole else str(registry.folder() / declared.lies)
