"""What the small files of one pipeline say, or why they cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.checkpoint.notes.published import read_published
from spark_jobs.errors import RootNotWritable, RootRefused, RootUnreachable, SluiceError
from spark_jobs.registry import find as registry
from spark_jobs.storage.root.paths import Paths
from spark_jobs.storage.root.store import is_remote

if TYPE_CHECKING:
    from upath import UPath

    from spark_jobs.ops.json_of_tables import BatchLine


Found = TypeVar("Found")


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
        return RootNotWritable.not_readable(
            path=error.filename or root, error=error.strerror or error
        )


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
