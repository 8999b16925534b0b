"""Branch: another folder of a place with Spark's checkpoint, a copy of the live one up to a batch.

A rewind and a repartition begin one, and let identity.json name it last. So nobody removes an entry
by whose name another may come late: what comes late falls into a dead folder.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from spark_jobs.checkpoint.schema_notes import follow
from spark_jobs.storage.folders import copy
from spark_jobs.storage.pin import INPUTS
from spark_jobs.storage.root.live_place import SPARK, STAMP

if TYPE_CHECKING:
    from upath import UPath


LOGS = ("offsets", "commits")
NOTES = "/_metadata/v2"
"""Where transformWithState's notes are, by their batch: the number of stores among them. Spark
leaves a note that is there as it is."""


def up_to(batch: int, path: str) -> bool:
    """Whether a file is there at the end of the batch. So is its checksum: by one without its entry
    Hadoop would refuse the next entry.

    >>> [up_to(4, path) for path in ("offsets/4", "commits/.5.crc", "state/0/1/5_id.zip")]
    [True, False, True]
    >>> [up_to(4, path) for path in ("inputs/5", "inputs/6")]
    [True, False]
    >>> [up_to(4, path) for path in ("state/0/1/6_id.zip", "state/0/1/SSTs/9.sst", "metadata")]
    [False, True, True]
    """
    folder, _, name = path.rpartition("/")
    number = name.removeprefix(".").partition(".")[0].partition("_")[0]
    if not number.isdigit():
        return True
    if folder == INPUTS:
        return int(number) <= batch + 1  # what is there was held against the next batch's versions
    if folder in LOGS or folder.endswith(NOTES):
        return int(number) <= batch
    top, _, store = folder.rpartition("/")
    if top.startswith("state/") and store.isdigit():
        return int(number) <= batch + 1  # a version is one more than its batch
    return True


def name_one() -> str:
    """The name of a folder that begins now."""
    return f"{SPARK}-{datetime.now(UTC):{STAMP}}"


def branch(old: UPath, new: UPath, batch: int, confirm: Callable[[], None]) -> None:
    """Let `new` have what Spark has noted and stored in `old` up to the batch. It may be done
    again. Raises what `confirm` does.
    """
    copy(old, new, confirm, lambda path: up_to(batch, path))
    follow(new, confirm)
