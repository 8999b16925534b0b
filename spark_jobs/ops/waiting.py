"""Waiting: of each pipeline, the records that no repair has used and the batches that consumers
were not told of; without Spark, from the checkpoint's small files and the ops tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.notes.live import live_spec
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.errors import RootNotWritable, RootRefused, RootUnreachable, SluiceError
from spark_jobs.ops import ops_tables
from spark_jobs.registry import find as registry
from spark_jobs.root.paths import Paths
from spark_jobs.root.store import is_remote

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.shown import BatchLine


Found = TypeVar("Found")


class Waits(NamedTuple):
    """What waits of one pipeline. None: it is not known, and `lacking` says why."""

    late: int | None
    """Late records of the checkpoint that no repair has used."""
    quarantined: int | None
    """Quarantined records likewise."""
    batches: int | None
    """Batches with rows in the table that consumers were not told of."""
    rows: int | None
    """The rows that these batches wrote."""
    lacking: str | None = None

    @classmethod
    def unknown(cls, why: SluiceError) -> Waits:
        return cls(None, None, None, None, str(why))


class _Checkpoint(NamedTuple):
    generations: tuple[str, ...]
    published: int


def waiting(root: UPath, pipelines: Sequence[str]) -> dict[str, Waits]:
    """Pipeline -> what waits. A pipeline without a checkpoint is not among them."""
    known, unknown = dict[str, _Checkpoint](), dict[str, Waits]()
    for name in pipelines:
        found = or_why(root, partial(_checkpoint, root, name))
        if isinstance(found, SluiceError):
            unknown[name] = Waits.unknown(found)
        elif found is not None:
            known[name] = found
    return unknown | (_of_checkpoints(root, known) if known else {})


def _of_checkpoints(root: UPath, known: Mapping[str, _Checkpoint]) -> dict[str, Waits]:
    late, bad = _rejected(root, "late", known), _rejected(root, "quarantine", known)
    used = _used(root, known)
    told = _unpublished(root, known)
    return {
        name: Waits(
            max(0, late[name] - used[name, "late"]),
            max(0, bad[name] - used[name, "quarantine"]),
            *told[name],
        )
        for name in known
    }


def was_told(root: UPath, pipeline: str, batches: Sequence[BatchLine]) -> bool | None:
    """Whether consumers were told of the newest version of the table that these batches made; None
    where they made none, and where nobody knows: another generation has begun its batches anew
    since, or spec or checkpoint cannot be read.
    """
    wrote = [batch for batch in batches if batch.table_version is not None]
    if not wrote:
        return None
    told = or_why(
        root,
        lambda: read_published(Paths(str(root), live_spec(registry.load(pipeline), str(root)))),
    )
    if isinstance(told, SluiceError):
        return None
    if told.generation not in {"", wrote[-1].generation}:
        return None
    version = -1 if told.table_version is None else told.table_version
    return version >= (wrote[-1].table_version or 0)


def or_why(root: UPath, read: Callable[[], Found]) -> Found | SluiceError:
    """What is read of one pipeline, or why it cannot be: an overview shows the others where the
    files of one are damaged. Raises what all have in common: RootRefused, RootUnreachable.
    """
    try:
        return read()
    except (RootRefused, RootUnreachable):
        raise
    except SluiceError as error:
        return error
    except OSError as error:
        if is_remote(str(root)):
            raise
        return RootNotWritable.not_readable(error.filename or root, error.strerror or error)


def _checkpoint(root: UPath, name: str) -> _Checkpoint | None:
    paths = Paths(str(root), live_spec(registry.load(name), str(root)))
    identity, told = read_identity(paths), read_published(paths)
    if identity is None:
        return None
    ours = told.generation in {"", *identity.generations}
    version = told.table_version if ours else None
    return _Checkpoint(tuple(identity.generations), -1 if version is None else version)


def _rejected(root: UPath, table: str, known: Mapping[str, _Checkpoint]) -> dict[str, int]:
    rows = ops_tables.query(
        root,
        table,
        f"SELECT pipeline, count(*) AS n FROM {table} WHERE {_of(known)} GROUP BY pipeline",
    ).to_pylist()
    return defaultdict(int, {row["pipeline"]: row["n"] for row in rows})


def _used(root: UPath, known: Mapping[str, _Checkpoint]) -> dict[tuple[str, str], int]:
    """(pipeline, ops table) -> records with a fate. One that still cannot be used waits on."""
    rows = ops_tables.query(
        root,
        "merged",
        f"SELECT pipeline, source, count(*) AS n FROM merged WHERE {_of(known)} AND fate IN "
        "('merged', 'duplicate', 'filtered') GROUP BY pipeline, source",
    ).to_pylist()
    return defaultdict(int, {(row["pipeline"], row["source"]): row["n"] for row in rows})


def _unpublished(root: UPath, known: Mapping[str, _Checkpoint]) -> dict[str, tuple[int, int]]:
    """Pipeline -> batches with a newer table version than the published one, and their rows."""
    newer = " OR ".join(
        f"({_of({name: each})} AND table_version > {each.published})"
        for name, each in known.items()
    )
    rows = ops_tables.query(
        root,
        "batches",
        "SELECT pipeline, count(*) AS batches, sum(rows_out) AS rows FROM batches "
        f"WHERE {newer} GROUP BY pipeline",
    ).to_pylist()
    found = {row["pipeline"]: (row["batches"], row["rows"] or 0) for row in rows}
    return defaultdict(lambda: (0, 0), found)


def _of(known: Mapping[str, _Checkpoint]) -> str:
    """The SQL condition for the rows of these checkpoints."""
    each = (
        f"({ops_tables.of_checkpoint(name, found.generations)})" for name, found in known.items()
    )
    return f"({' OR '.join(each)})"
