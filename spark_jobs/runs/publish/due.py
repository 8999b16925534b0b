"""Due: from which version to which the next event tells; and the lag to it.

Kafka's tools show the lag too, if SLUICE_LAG_GROUP says so.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.begun import under_way
from spark_jobs.checkpoint.notes.cursor import read_cursor
from spark_jobs.checkpoint.notes.published import Published
from spark_jobs.ops import ops_tables
from spark_jobs.settings.installation import lag_group
from spark_jobs.source.port import ends_of
from spark_jobs.source.positions import Positions
from spark_jobs.table.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from spark_jobs.checkpoint.identity import Identity
    from spark_jobs.messages.event import Event
    from spark_jobs.settings.installation import Settings
    from spark_jobs.source.port import End, Ends
    from spark_jobs.spec import Pipeline
    from spark_jobs.storage.root.paths import Paths


class Announced(NamedTuple):
    """The newest event of publish that Airflow has."""

    number: int = 0
    """0 without one, and of one that an older Sluice has sent."""
    generation: str = ""
    table_version: int = -1


def due(
    paths: Paths, spec: Pipeline, last: Published, announced: Announced | None = None
) -> Published | None:
    """What the next event is to tell, which is not made yet; None if consumers know of everything
    that passed. `last` was told.

    `announced` is None if the caller cannot know.
    """
    judged, known = read_judged(paths, spec), read_identity(paths)
    if judged is None or known is None:
        return None
    version, batch = _since(paths, known, last, announced)
    if version is not None and judged.table_version <= version:
        return None  # behind a rewind the newest verdict may be of an older version
    return Published(
        number=max(last.number, announced.number if announced else 0) + 1,
        generation=known.generation,
        table_version=judged.table_version,
        batch=judged.batch,
        before_version=version,
        before_batch=min(batch, judged.batch),
    )


class Judged(NamedTuple):
    """What the newest verdict is about."""

    table_version: int
    batch: int


def read_judged(paths: Paths, spec: Pipeline) -> Judged | None:
    """The newest verdict on the table that is there; None without one, and while a change is under
    way: until it ends, cursor and table do not belong together. None amid a
    spec's own ends too (publish_at): the run that goes on ends at one.
    """
    if under_way(paths):
        return None
    cursor, known = read_cursor(paths.cursor), read_identity(paths)
    if known is None or cursor.judged < 0 or cursor.judged_table_version is None:
        return None
    if cursor.judged_generation not in {"", *known.generations}:
        return None  # a verdict of another checkpoint: its versions are of other rows
    # Of another table at its place, versions of the same number have rows that nobody has judged.
    if known.table_id and (
        not table_of(paths).exists() or table_of(paths).identifier() != known.table_id
    ):
        return None
    ends = ends_of(spec, paths)
    if ends and end_of(ends, paths, known, cursor.judged) is None:
        return None
    return Judged(cursor.judged_table_version, cursor.judged)


def end_of(ends: Ends, paths: Paths, known: Identity, batch: int) -> End | None:
    """The one at which this batch ends; None if it is at none."""
    rows = ops_tables.query(
        paths.root,
        "batches",
        f"SELECT offsets_end FROM batches WHERE pipeline = '{paths.pipeline}' "
        f"AND {ops_tables.among('generation', known.generations)} AND batch_id = {batch}",
    ).to_pylist()
    offsets = (Positions.of_json(row["offsets_end"]) for row in rows)
    return next(filter(None, map(ends.at, offsets)), None)


def _since(
    paths: Paths, known: Identity, last: Published, announced: Announced | None
) -> tuple[int | None, int]:
    ours = announced if announced and announced.generation in known.generations else None
    if ours and ours.number > last.number:  # what is here is a copy of before
        batch = _newest_batch(paths, known.generations, ours.table_version)
        return ours.table_version, -1 if batch is None else batch
    if last.generation not in {"", *known.generations}:
        return None, -1  # a reset, or a switch: another checkpoint
    told = ours.table_version if ours else None
    if announced and not last.number and told != last.table_version:
        # An older Sluice noted it before Airflow had it.
        return last.before_version, last.before_batch
    if last.generation in {"", known.generation}:
        return last.table_version, last.batch
    # A rewind removes the rows of the batches that it takes back; `sluice maintain` old ones.
    until = known.generations.index(last.generation) + 1
    kept = _newest_batch(paths, known.generations[:until])
    return last.table_version, last.batch if kept is None else min(last.batch, kept)


def _newest_batch(
    paths: Paths, generations: tuple[str, ...], version: int | None = None
) -> int | None:
    until = "" if version is None else f"AND table_version <= {version}"
    [row] = ops_tables.query(
        paths.root,
        "batches",
        "SELECT max(batch_id) AS newest FROM batches "
        f"WHERE pipeline = '{paths.pipeline}' "
        f"AND {ops_tables.among('generation', generations)} {until}",
    ).to_pylist()
    newest: int | None = row["newest"]
    return newest


LOG = logging.getLogger(__name__)


def show_lag(spec: Pipeline, event: Event, settings: Callable[[], Settings]) -> None:
    """Commit the offsets of the newest event to the pipeline's group. A failure is a warning."""
    ends = Positions.of_named(event.offsets_end)
    prefix = lag_group()
    if not prefix or not ends or not spec.inputs.of_kafka:
        return
    from spark_jobs.source.lag_group import commit  # noqa: PLC0415 - Kafka's client, which publish alone does not need

    try:
        commit(settings(), spec, ends, f"{prefix}.{spec.name}")
    except Exception as error:  # noqa: BLE001 - it is for eyes alone
        LOG.warning("%s: Kafka's tools show an old lag: %s", spec.name, error)
