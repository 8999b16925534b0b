"""Restoring: the table given the rows of an earlier version, by a rewind, or by who takes a
person's RESTORE back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltalake.exceptions import CommitFailedError, DeltaError

from spark_jobs.errors import MaintenanceRefused, StateUnreadable, TableContended
from spark_jobs.journal.change import Facts, Scene
from spark_jobs.root.path_forms import from_uri, sql_table
from spark_jobs.sink import table
from spark_jobs.table import history
from spark_jobs.table.delta import door
from spark_jobs.table.delta.features import unwritable

if TYPE_CHECKING:
    import deltalake
    from upath import UPath


class Restoring(Facts):
    """What the steps need."""

    version: int
    """The table's version to restore."""
    generation: str
    """The generation whose table it is then."""


def restore_table(facts: Restoring, scene: Scene) -> None:
    """Give the table the rows of the version, in a commit that names this change. If it is at that
    version, the commit changes nothing: a batch that comes late is refused behind it.

    Raises TableContended, or StateUnreadable if VACUUM has removed files of the version since
    somebody looked.
    """
    path = scene.paths.table
    opened = door.confirmed(path, scene.held, brief=True)
    if _committed(facts, scene) is not None:
        return
    refuse_features(opened)
    if opened.version() == facts.version:
        with _beside_others(path):
            door.set_property(opened, door.FENCE, str(scene.held.fence))
        return
    try:
        with _beside_others(path):
            door.restore(opened, facts.version, {history.CHANGE: scene.id})
    except DeltaError:
        if door.version_is_whole(path, facts.version):
            raise
        raise StateUnreadable.vacuumed_meanwhile(
            version=facts.version,
            path=path,
            pipeline=scene.paths.pipeline,
        ) from None


def restorable(facts: Restoring, scene: Scene) -> bool:
    """Whether the table has the rows of the version, or can have them yet."""
    path = scene.paths.table
    if _committed(facts, scene) is not None:
        return True
    return not unwritable(door.open_table(path)) and door.version_is_whole(path, facts.version)


def refuse_features(table: deltalake.DeltaTable) -> None:
    """Raise MaintenanceRefused for a table that delta-rs cannot restore, mark or release."""
    if unknown := unwritable(table):
        place = from_uri(table.table_uri)
        raise MaintenanceRefused.feature_unwritable(
            place=place,
            unknown=", ".join(unknown),
            sql=sql_table(place),
            first=unknown[0],
        )


def mark_table(facts: Restoring, scene: Scene) -> None:
    """Give the table to the generation: a RESTORE brings back the properties from then.
    Raises TableContended.
    """
    path = scene.paths.table
    opened = door.confirmed(path, scene.held, brief=True)
    if table.generation(path) != facts.generation:
        refuse_features(opened)
        with _beside_others(path):
            said = {history.MARK: scene.id}
            door.set_property(opened, history.GENERATION, facts.generation, said)


def restored_version(facts: Restoring, scene: Scene) -> int:
    """The version that has these rows now."""
    return _committed(facts, scene) or facts.version


@contextmanager
def _beside_others(path: UPath) -> Iterator[None]:
    """Within the block a person may write to the table: who takes the lease next completes the
    change.
    """
    try:
        yield
    except CommitFailedError as error:
        why = str(error).splitlines()[0].rstrip(". ")
        raise TableContended.restored_later(path=path, why=why) from None


def _committed(facts: Restoring, scene: Scene) -> int | None:
    return history.change_version(scene.paths.table, scene.id, facts.version)
