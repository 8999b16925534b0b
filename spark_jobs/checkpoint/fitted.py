"""Fitted: the lines of the offset log for another number of topics.

Spark resumes from the newest entry and the one before, and asks of both for as many lines as the
query has sources (OffsetSeqBase.toStreamProgress). A topic that was added has none: its line says
so, and Spark begins it where it begins then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.checkpoint.log import NO_OFFSETS, checkpoint_broken
from spark_jobs.errors import LeaseLost
from spark_jobs.storage.seen import look, put_over

if TYPE_CHECKING:
    from spark_jobs.checkpoint.log import Checkpoint
    from spark_jobs.storage.held import Held

HEAD = 2
"""Lines of an entry before those of topics: the version and the metadata."""


def fit(checkpoint: Checkpoint, topics: int, held: Held, pipeline: str) -> None:
    """May be cut off anywhere, and is repeated. A line that no batch needs goes again: its topic
    was taken back before anything of it was read.

    Raises LeaseLost; CheckpointBroken if a batch has read more topics, or was planned to.
    """
    for batch in checkpoint.planned()[-2:]:
        path = checkpoint.folder / "offsets" / str(batch)
        seen = look(path)
        lines = (seen.text or "").splitlines()
        fitted = _fitted(lines, HEAD + topics)
        if len(fitted) > HEAD + topics:
            what = f"{path} has {len(fitted) - HEAD} topics, and the spec {topics}"
            raise checkpoint_broken(what, pipeline)
        if not lines or fitted == lines:
            continue
        held.confirm()
        # Before the text: by the old checksum Hadoop would refuse the new text.
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
        try:
            put_over(path, seen, "\n".join(fitted), alone=True)
        except FileExistsError:
            raise LeaseLost.planned_elsewhere(batch=batch, folder=path.parent) from None


def _fitted(lines: list[str], length: int) -> list[str]:
    """With lines for topics that no batch has, or without those.

    >>> _fitted(["v1", "{}", '{"a":{"0":5}}'], 4)
    ['v1', '{}', '{"a":{"0":5}}', '-']
    >>> _fitted(["v1", "{}", '{"a":{"0":5}}', "-"], 3)
    ['v1', '{}', '{"a":{"0":5}}']
    """
    found = [*lines, *[NO_OFFSETS] * (length - len(lines))]
    while len(found) > length and found[-1] == NO_OFFSETS:
        found.pop()
    return found
