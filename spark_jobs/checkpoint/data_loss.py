"""Data loss: records that retention took before a checkpoint read them."""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.source.port import SourceState
from spark_jobs.spec.inputs import Topics
from spark_jobs.storage.root.paths import Paths
from spark_jobs.values.numbering import input_of

DataLoss = dict[int, tuple[int, int]]
"""Partition -> the first and last offset of the records that Kafka removed before the checkpoint
read them.
"""


def data_loss(paths: Paths, declared: Topics, topic: SourceState) -> DataLoss:
    """The records that retention removed and no batch has read; empty if there are none, or no
    batch is planned yet.
    """
    checkpoint = Checkpoint(paths.checkpoint)
    planned, committed = checkpoint.planned(), checkpoint.committed()
    if not planned:
        return {}
    next_to_read = (
        checkpoint.batch(committed[-1]).end if committed else checkpoint.batch(planned[0]).start
    )
    # A topic that no batch has yet will be read from where its source once found it to begin, as
    # behind a rewind, or from where it begins then. A partition of another one, from 0.
    asked, has = ({input_of(p) for p in of} for of in (topic.earliest, next_to_read))
    names = [each.name for each in declared]
    for number in asked - has:
        if checkpoint.initial_topic(number) == names[number]:
            next_to_read |= checkpoint.initial_offsets(number)
    known = {0} | {input_of(p) for p in next_to_read}
    unread = {
        p: (next_to_read.get(p, 0), first - 1)
        for p, first in topic.earliest.items()
        if input_of(p) in known
    }
    return {p: (at, last) for p, (at, last) in unread.items() if last >= at}


def format_data_loss(loss: DataLoss, shown: Callable[[int], str] = str) -> str:
    """The number of records and the offsets of each partition, on one line."""
    return ", ".join(
        f"partition {shown(p)}: {last - at + 1} records ({at} to {last})"
        for p, (at, last) in loss.items()
    )
