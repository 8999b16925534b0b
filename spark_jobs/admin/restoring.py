"""Restoring: the table given the rows of an earlier version, by a rewind, or by who takes a
person's RESTORE back.
"""

from __future__ import annotations

from spark_jobs.errors import StateUnreadable
from spark_jobs.journal.change import Facts, Scene
from spark_jobs.table import history
from spark_jobs.table.tables import table_of


class Restoring(Facts):
    """What the steps need."""

    version: int
    """The table's version to restore."""
    generation: str
    """The generation whose table it is then."""


def restore_table(facts: Restoring, scene: Scene) -> None:
    """Give the table the rows of the version, in a commit that names this change.

    Raises TableContended, or StateUnreadable if VACUUM has removed files of the version since
    somebody looked.
    """
    try:
        table_of(scene.paths).restore(facts.version, scene.id, scene.held)
    except LookupError:
        raise StateUnreadable.vacuumed_meanwhile(
            version=facts.version,
            path=scene.paths.table,
            pipeline=scene.paths.pipeline,
        ) from None


def restorable(facts: Restoring, scene: Scene) -> bool:
    """Whether the table has the rows of the version, or can have them yet."""
    return _committed(facts, scene) is not None or table_of(scene.paths).restores(facts.version)


def mark_table(facts: Restoring, scene: Scene) -> None:
    """Give the table to the generation: a RESTORE brings back the properties from then.
    Raises TableContended.
    """
    table_of(scene.paths).belong(facts.generation, scene.held, scene.id)


def restored_version(facts: Restoring, scene: Scene) -> int:
    """The version that has these rows now."""
    return _committed(facts, scene) or facts.version


def _committed(facts: Restoring, scene: Scene) -> int | None:
    return history.change_version(table_of(scene.paths), scene.id, facts.version)
