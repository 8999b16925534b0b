"""Entry: what a commit of a table says of itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypedDict

from upath import UPath

from spark_jobs.storage.root.path_forms import SparkPath

if TYPE_CHECKING:
    from spark_jobs.values.spans import Span


LOG: Final = "_delta_log"
"""The folder of a table with its log."""


class Note(TypedDict, total=False):
    """What a batch's commit says of itself; empty for another's commit."""

    sluice: str
    """The pipeline and its generation, with a slash between."""
    batch: int
    run: str
    fates: dict[str, int]
    """Of a table that follows a key (steps/keyed/fates.py)."""


class Entry(NamedTuple):
    """One commit of a table."""

    version: int
    does: Literal["rows", "nothing", "restore"] = "rows"
    """Whether it may have changed rows, has changed none, or has brought back an earlier version's
    rows.
    """
    said: Mapping[str, Any] = {}
    """What its writer said of it; empty for a stranger's."""
    at: datetime | None = None
    """When it was made; None if nobody knows."""
    rows: int | None = None
    """How many it wrote; None of one that writes none."""
    to: int | None = None
    """The version that it has restored; None if it has not, or nobody can tell."""
    marks: bool = False
    """Whether it only gives the table to a generation."""

    @property
    def note(self) -> Note:
        """Empty for anything that is not a batch of Sluice: a repair says another word."""
        owner, batch = self.said.get("sluice"), self.said.get("batch")
        if not isinstance(owner, str) or type(batch) is not int:
            return {}
        return {"sluice": owner, "batch": batch}


class Change(Protocol):
    """What a commit may have changed."""

    @property
    def version(self) -> int:
        """The commit's."""

    @property
    def restores(self) -> bool:
        """Whether it had the rows of an earlier version again."""

    def touches(self, column: str, spans: Iterable[Span]) -> bool:
        """Whether rows with times of this column in one of the spans may be among them."""


class Changes(NamedTuple):
    """What all commits behind a version may have changed."""

    since: int
    """The version."""
    commits: Sequence[Change]


class OfBatch(NamedTuple):
    """The batch that a commit is of."""

    owner: str
    """The pipeline and its generation, with a slash between."""
    batch: int
    run: str
    records: int = 0
    """The most records that it may have."""

    @property
    def note(self) -> Note:
        """What its commit says of itself, together with its rows or not at all."""
        return {"sluice": self.owner, "batch": self.batch, "run": self.run}


class Commit(NamedTuple):
    """The table's path, and the transaction id: `owner` (pipeline/generation) and `batch_id`."""

    path: SparkPath
    owner: str
    batch_id: int
    note: Note
    """Becomes the commit's userMetadata, as JSON."""
    table: UPath = UPath()
    """The same path, for who writes without Spark."""
    records: int = 0
    """The most records that the batch may have."""
    confirm: Callable[[], None] = lambda: None
    """Raises LeaseLost. Of Spark's commits the log store of S3 asks too."""
