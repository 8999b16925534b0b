"""Marking: a run that reads newer versions of tables beside the stream notes what they have
otherwise than the rows that are there, before it notes these versions.

So a kill in between loses nothing: the next run finds the same versions to compare, or newer ones.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.noted_versions import note
from spark_jobs.ops import outdated
from spark_jobs.side.port import keep, side_of
from spark_jobs.storage import failpoint
from spark_jobs.storage.pin import Changed, Pin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.checkpoint.notes.noted_versions import Pinned
    from spark_jobs.runs.resume.settlers import SparkScene
    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline
    from spark_jobs.spec.side import SideTable
    from spark_jobs.storage.lease_view import Held
    from spark_jobs.storage.root.paths import Paths


LOG = logging.getLogger(__name__)


def newer_sides(scene: SparkScene) -> tuple[str, ...]:
    """Mark what they have otherwise; then keep the versions, and note them."""
    spec, settings, pinned, held = scene.now.spec, scene.settings, scene.pinned, scene.held
    mark(scene.spark, spec, settings, scene.paths, scene.identity.generations, pinned, held)
    keep(spec, settings, pinned.inputs)
    note(pinned, Checkpoint(scene.paths.checkpoint), held)
    return ()


def mark(
    spark: SparkSession,
    spec: Pipeline,
    settings: Settings,
    paths: Paths,
    generations: Sequence[str],
    pinned: Pinned,
    held: Held,
) -> None:
    """Write the marks of the versions that are pinned; none without a batch, whose rows they would
    be about.
    """
    for side in spec.sides if pinned.batch >= 0 else ():
        if side.name not in pinned.moved or side.keeps:
            continue
        was, now = pinned.moved[side.name], pinned.inputs[side.name]
        found = _changes(spark, side, settings, was, now)
        own = (paths.root, paths.pipeline, generations, side.name, now, pinned.batch)
        marks = outdated.put(*own, found, held)
        told = "%s: reads version %d of %s from now on, with %s changes since the version before"
        LOG.info(told, spec.name, now.version, side.name, f"{marks:,}")
        failpoint.at("marked")


def _changes(
    spark: SparkSession, side: SideTable, settings: Settings, was: Pin | None, now: Pin
) -> Iterator[Changed]:
    """All keys, where the version before cannot be read any more, or is another table's."""
    table = side_of(side, settings)
    if was is None or was.table_id != now.table_id or not table.has(was):
        yield Changed(None, None, None)
    else:
        yield from table.changed(spark, was, now)
