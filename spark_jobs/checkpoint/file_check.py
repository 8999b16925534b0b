"""File check: finds what is wrong with one file of a checkpoint, without Spark: torn, changed, or
of another size.

It compares three sources. On a local disk Hadoop keeps a checksum beside each file
(ChecksumFileSystem: `.<name>.crc`, a CRC-32 of every 512 bytes). Logs must parse as JSON, and
RocksDB's snapshots as zip files. A snapshot names its SST files and their sizes
(RocksDBCheckpointMetadata).
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upath import UPath

MISSING = "is missing"
HEADER = 8
"""Bytes before the sums of a checksum file: `crc`, a version, and the number of bytes that each sum
covers.
"""


def find_damage(path: UPath) -> str:
    """What is wrong with one file, as words that follow its name; empty if nothing is."""
    if not path.exists():
        return MISSING
    content = path.read_bytes()
    if not content:
        return "is empty"
    return _check_checksum(path, content) or _check_format(path, content)


def corrupt_ssts(snapshot: UPath) -> Iterator[tuple[UPath, str]]:
    """Each SST file of a snapshot that is missing or of another size than the snapshot records, and
    what is wrong with it.
    """
    for path, size in sst_files(snapshot):
        if not path.exists():
            yield path, MISSING
        elif path.stat().st_size != size:
            yield path, f"has {path.stat().st_size} bytes, but its snapshot records {size}"


def sst_files(snapshot: UPath) -> list[tuple[UPath, int]]:
    """The SST files that a snapshot needs, with their sizes in bytes."""
    with snapshot.open("rb") as opened, zipfile.ZipFile(opened) as file:
        metadata = json.loads(file.read("metadata").decode().splitlines()[1])
    return [
        (snapshot.parent / "SSTs" / sst["dfsSstFileName"], int(sst["sizeBytes"]))
        for sst in metadata["sstFiles"]
    ]


def _check_checksum(path: UPath, content: bytes) -> str:
    checksum = path.with_name(f".{path.name}.crc")
    raw = checksum.read_bytes() if checksum.exists() else b""
    if len(raw) < HEADER or not raw.startswith(b"crc\0"):
        # there is none, as on an object store, or it is torn itself: the other two sources decide
        return ""
    (size,) = struct.unpack(">I", raw[4:HEADER])
    sums = (len(raw) - HEADER) // 4
    expected = struct.unpack(f">{sums}I", raw[HEADER : HEADER + 4 * sums])
    for number, block_sum in enumerate(expected):
        if number * size >= len(content):
            return f"ends after {len(content)} bytes, and more were written"
        if zlib.crc32(content[number * size : (number + 1) * size]) != block_sum:
            return f"is not what was written, from byte {number * size} on"
    return "is longer than what was written" if len(content) > len(expected) * size else ""


def _check_format(path: UPath, content: bytes) -> str:
    try:
        if path.parent.name in {"offsets", "commits"}:
            _, metadata, *_ = content.decode().splitlines()
            json.loads(metadata)
        elif path.name == "metadata" and path.parent.name != "_metadata":
            json.loads(content)["id"]
    except (ValueError, KeyError):
        return "does not parse"
    return (
        "is no whole zip file"
        if path.suffix == ".zip" and not zipfile.is_zipfile(io.BytesIO(content))
        else ""
    )
