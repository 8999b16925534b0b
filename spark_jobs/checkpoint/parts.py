"""Parts: which files of a checkpoint belong to which batches, by their paths below its folder."""

from __future__ import annotations

INPUTS = "inputs"
"""Where the versions of the tables beside the stream are noted (pins.py)."""
LOGS = ("offsets", "commits", INPUTS)
NOTES = "/_metadata/v2"
"""Where transformWithState's notes are, by their batch: the number of stores among them. Spark
leaves a note that is there as it is."""


def up_to(batch: int, path: str) -> bool:
    """Whether a file is there at the end of the batch. So is its checksum: by one without its entry
    Hadoop would refuse the next entry.

    >>> [up_to(4, path) for path in ("offsets/4", "commits/.5.crc", "state/0/1/5_id.zip")]
    [True, False, True]
    >>> [up_to(4, path) for path in ("inputs/4", "inputs/5")]
    [True, False]
    >>> [up_to(4, path) for path in ("state/0/1/6_id.zip", "state/0/1/SSTs/9.sst", "metadata")]
    [False, True, True]
    """
    folder, _, name = path.rpartition("/")
    number = name.removeprefix(".").partition(".")[0].partition("_")[0]
    if not number.isdigit():
        return True
    if folder in LOGS or folder.endswith(NOTES):
        return int(number) <= batch
    top, _, store = folder.rpartition("/")
    if top.startswith("state/") and store.isdigit():
        return int(number) <= batch + 1  # a version is one more than its batch
    return True
