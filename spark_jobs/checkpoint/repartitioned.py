"""Repartitioned: the batch that moves the state to another number of stores, as Spark writes it,
and whether it counts.

Such a batch N+1 reads no record. Its entry of the offset log has the offsets of batch N and another
number of partitions, its state files have what those of batch N have, and its commit names them
(OfflineStateRepartitionRunner of Spark 4.2). No file of an earlier batch is changed. It counts from
the moment at which identity.json has its number: the one write that `sluice repartition` ends with.
Before, it was cut off or is under way, and it can be taken back: what batch N has is all there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import Checkpoint, versions
from spark_jobs.storage.folders import remove_folder

if TYPE_CHECKING:
    from upath import UPath

FIELD = "state.shuffle_partitions"
"""The field of the fingerprint that has the number which counts."""


def cut_off(checkpoint: Checkpoint, counts: object) -> int | None:
    """The newest batch, if it is one of a repartition that does not count; None otherwise.

    `counts` is the number of partitions in identity.json.
    """
    planned = checkpoint.planned()
    if len(planned) < 2 or planned[-2] != planned[-1] - 1:  # noqa: PLR2004 - it and the one before
        return None
    before, newest = map(checkpoint.partitions, planned[-2:])
    if before != counts or newest in {None, before}:
        return None
    return None if checkpoint.batch(planned[-1]).covered else planned[-1]


def take_back(checkpoint: Checkpoint, batch: int) -> None:
    """Remove the batch of a repartition that does not count. It may be done again.

    The entry of the offset log goes last: by it one knows that there is something to take back.
    State files that no commit names are purged later, but for stores that no other batch has.
    """
    state = checkpoint.folder / "state"
    _remove(checkpoint.folder / "commits" / str(batch))
    forget_operators(checkpoint, batch - 1)
    number = checkpoint.partitions(batch - 1)
    for store in [path for path in state.glob("*/*") if path.name.isdigit()]:
        beyond = number is not None and int(store.name) >= number
        if beyond and versions(store) <= {batch + 1}:
            remove_folder(store)
    _remove(checkpoint.folder / "offsets" / str(batch))


def forget_operators(checkpoint: Checkpoint, batch: int) -> None:
    """Remove what Spark noted of transformWithState in later batches: the number of stores among
    it. Spark leaves a note that is there as it is.
    """
    for note in [*checkpoint.folder.glob("state/*/_metadata/v2/*")]:
        if note.name.isdigit() and int(note.name) > batch:
            _remove(note)


def _remove(path: UPath) -> None:
    """With its checksum: by that of an entry that is gone, Hadoop would refuse the next one."""
    path.unlink(missing_ok=True)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
