"""The checksum of a table's first version, which has no rows yet.

delta-rs, which makes the tables, writes none. Delta's Spark builds each version's checksum from the
one before, and where that is missing it reads the whole table's state first, in a Spark job that
costs a first batch half a second (bench/NOTES.md).

Source: "Version Checksum File" in Delta's PROTOCOL.md; Checksum.scala of Delta 4.4
(incrementallyDeriveChecksum, readChecksum: what cannot be read counts as missing).
"""

from __future__ import annotations

import contextlib
import json

from upath import UPath

FIRST = f"{0:020}"
EMPTY = {
    "tableSizeBytes": 0,
    "numFiles": 0,
    "numMetadata": 1,
    "numProtocol": 1,
    "setTransactions": [],
    "domainMetadata": [],
    "allFiles": [],
}


def write_first_checksum(path: UPath) -> None:
    """Write it beside the commit that made the table at `path`.

    A store that refuses it costs the first batch half a second, and nothing else.
    """
    log = path / "_delta_log"
    with contextlib.suppress(Exception):  # botocore's have no root in common with a disk's
        commit = (log / f"{FIRST}.json").read_text().splitlines()
        actions = {name: action for line in commit for name, action in json.loads(line).items()}
        checksum = EMPTY | {"metadata": actions["metaData"], "protocol": actions["protocol"]}
        (log / f"{FIRST}.crc").write_text(json.dumps(checksum) + "\n")
