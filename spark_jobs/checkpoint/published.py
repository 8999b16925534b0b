"""Published: the table version that consumers were told of, in published.json beside the
checkpoint.

A fact of its own: `publish` alone moves it. What passed and was not published, whoever drained it,
is published by the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import checkpoint_broken
from spark_jobs.checkpoint.stored import Stored
from spark_jobs.contract.span import Span

if TYPE_CHECKING:
    from upath import UPath


class Published(Stored):
    """The content of published.json: the published version, and the one before it that consumers
    were told of, from which its event counts.
    """

    table_version: int | None = None
    """The version that consumers read; None before the first."""
    batch: int = -1
    """The newest batch whose rows are in it."""
    before_version: int | None = None
    """The newest version before it whose event Airflow had."""
    before_batch: int = -1
    """The newest batch whose rows are in that one."""
    changed_back: tuple[Span, ...] = ()
    """Ranges that consumers were told of and that a rewind has changed back since: the next event
    tells their days.
    """
    tells_back: tuple[Span, ...] = ()
    """Those that this event tells."""
    generation: str = ""
    """The checkpoint's, when `publish` read it: a reset beside it may have moved that checkpoint
    away. Empty where an older Sluice wrote the file.
    """


def publisher(path: UPath) -> str:
    """Who publishes what has passed, for people: a DAG that has published before, else nobody knows
    whether there is one.
    """
    if read_published(path).table_version is not None:
        return "The next run of its DAG publishes it"
    return "Its DAG in Airflow publishes it, if there is one"


def read_published(path: UPath) -> Published:
    """The stored fact; one before any publication if there is no file.

    Raises CheckpointBroken if it does not parse.
    """
    try:
        return Published.read(path) if path.exists() else Published()
    except ValueError:
        raise checkpoint_broken(f"{path} does not parse", path.parent.parent.name) from None
