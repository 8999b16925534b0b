"""Late commit: a commit that names another number of state stores than its batch was planned with.

`sluice repartition` is one call into the JVM, in which nobody asks whether the lease is still held.
A process that sleeps in it while another run takes the lease, takes its batch back and drains may
wake and commit that batch's id: the entry is absent again until the drain puts it. Its state files
are of another number of stores, by which it is told.
"""

from __future__ import annotations

from spark_jobs.checkpoint.log import Checkpoint


def wrong_stores(checkpoint: Checkpoint, batch: int) -> str:
    """What is wrong with the stores that a batch's commit names, as words that follow its name;
    empty if nothing is, or nobody can tell.

    Raises CheckpointBroken if an entry of the offset log does not parse.
    """
    planned = checkpoint.planned()
    number = checkpoint.partitions(batch) if batch in planned else None
    if number is None:
        return ""
    single = _single(checkpoint, batch - 1) if batch - 1 in planned else None
    for operator, count in checkpoint.stores(batch).items():
        alone = count == 1 and (single is None or operator in single)
        if count != number and not alone:
            return (
                f"names {count} state stores of operator {operator}, and batch {batch} was planned "
                f"for {number}"
            )
    return ""


def _single(checkpoint: Checkpoint, batch: int) -> set[int] | None:
    """The operators that have one store whatever the number: aggregates of everything. None if
    nobody can tell.
    """
    stores = checkpoint.stores(batch)
    if not stores:
        return None
    more = checkpoint.partitions(batch) != 1
    return {operator for operator, count in stores.items() if more and count == 1}
