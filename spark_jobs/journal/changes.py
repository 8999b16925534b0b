"""Changes: every kind, by the name that its note has."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spark_jobs.journal.change import Change, Facts

if TYPE_CHECKING:
    from spark_jobs.storage.root.paths import Paths

CHANGES = {
    "accept": "spark_jobs.admin.accept:ACCEPT",
    "anew": "spark_jobs.runs.resume.anew:ANEW",
    "back": "spark_jobs.admin.rebuild.switch:SWITCH",
    "repartition": "spark_jobs.runs.repartition:REPARTITION",
    "reset": "spark_jobs.admin.reset:RESET",
    "rewind": "spark_jobs.admin.rewind:REWIND",
    "swap": "spark_jobs.repair.swap:SWAP",
    "switch": "spark_jobs.admin.rebuild.switch:SWITCH",
    "undo": "spark_jobs.repair.undo:UNDONE",
    "unrestored": "spark_jobs.admin.unrestored:UNRESTORED",
}
"""Name -> where it is declared. As text, and imported when it is needed: each belongs to the room
of its command, and whoever takes the lease completes all of them.
"""

UNNOTED = "spark_jobs.repair.unnoted:unnoted"
"""What a Sluice without a journal left half done, found by the table's log."""


def kind(name: str) -> Change[Any]:
    """The change of this name. Raises KeyError for a newer Sluice's."""
    change: Change[Any] = _imported(CHANGES[name])
    return change


def unnoted(paths: Paths) -> Iterator[tuple[Change[Any], Facts]]:
    """Changes that are to be completed, of a root that never had a journal."""
    found: Iterator[tuple[Change[Any], Facts]] = _imported(UNNOTED)(paths)
    return found


def _imported(place: str) -> Any:
    module, _, declared = place.partition(":")
    return getattr(import_module(module), declared)
