"""Changes: every kind, by the name that its note has."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spark_jobs.journal.change import Change

CHANGES = {
    "accept": "spark_jobs.admin.accept:ACCEPT",
    "anew": "spark_jobs.runs.resume.anew:ANEW",
    "back": "spark_jobs.rebuild.switch:BACK",
    "repartition": "spark_jobs.runs.repartition:REPARTITION",
    "reset": "spark_jobs.admin.reset:RESET",
    "rewind": "spark_jobs.admin.rewind:REWIND",
    "swap": "spark_jobs.repair.exchange.swap:SWAP",
    "switch": "spark_jobs.rebuild.switch:SWITCH",
    "undo": "spark_jobs.repair.exchange.undo:UNDONE",
    "unrestored": "spark_jobs.admin.unrestored:UNRESTORED",
}
"""Name -> where it is declared. As text, and imported when it is needed: each belongs to the room
of its command, and whoever takes the lease completes all of them.
"""


def kind(name: str) -> Change[Any]:
    """The change of this name. Raises KeyError for a newer Sluice's."""
    module, _, declared = CHANGES[name].partition(":")
    change: Change[Any] = getattr(import_module(module), declared)
    return change
