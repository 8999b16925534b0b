"""Versions read: of each table beside the stream by batches, and rows that found none."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.identity import read_identity
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.checkpoint.notes.noted_versions import noted_for
from spark_jobs.errors import RootRefused, RootUnreachable, SluiceError
from spark_jobs.ops.json_of_tables import BatchLine, BesideLine
from spark_jobs.storage.root.paths import Paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.spec import Pipeline


def versions_of(
    spec: Pipeline | None, root: str, batches: Sequence[BatchLine]
) -> tuple[BesideLine, ...]:
    """As `versions_read`; nothing without a spec, or of a checkpoint that cannot be read."""
    try:
        return versions_read(spec, root, batches) if spec else ()
    except (RootRefused, RootUnreachable):
        raise
    except SluiceError:
        return ()


def versions_read(
    spec: Pipeline, root: str, batches: Sequence[BatchLine]
) -> tuple[BesideLine, ...]:
    """A line for each table and version, in the order of the batches."""
    if not spec.sides or not batches:
        return ()
    paths = Paths(root, spec)
    identity, checkpoint = read_identity(paths), Checkpoint(paths.checkpoint)
    generations = identity.generations if identity else ()
    found: dict[tuple[str, int | None], list[BatchLine]] = defaultdict(list)
    for batch in batches:
        pins = noted_for(batch.batch, checkpoint) if batch.generation in generations else {}
        for name in (side.name for side in spec.sides):
            found[name, pins[name].version if name in pins else None].append(batch)
    return tuple(
        BesideLine(
            table=name,
            version=version,
            batches=tuple(each.batch for each in of),
            unmatched=_sum([(each.unmatched or {}).get(name) for each in of]),
        )
        for (name, version), of in found.items()
    )


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
