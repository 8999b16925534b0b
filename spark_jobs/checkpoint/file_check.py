"""Damage: what is wrong with one file of a checkpoint: torn, changed, or not as others say. Without Spark.

Three witnesses. On a local disk Hadoop keeps a checksum beside each file (ChecksumFileSystem: `.<name>.crc`, a CRC-32 of every
512 bytes). Logs are JSON, RocksDB's snapshots zip files. A snapshot names its SST files and their sizes
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
"""Bytes before a checksum file's sums: `crc`, a version, and how many bytes each sum covers."""


def damaged(path: UPath) -> str:
    """What is wrong with one file, or nothing."""
    if not path.exists():
        return MISSING
    content = path.read_bytes()
    if not content:
        return "is empty"
    return _against_checksum(path, content) or _against_form(path, content)


def wrong_ssts(snapshot: UPath) -> Iterator[tuple[UPath, str]]:
    """The SST files of a snapshot that are not as it says, and what is wrong with each."""
    for path, size in sst_files(snapshot):
        if not path.exists():
            yield path, MISSING
        elif path.stat().st_size != size:
            yield path, f"has {path.stat().st_size} bytes, and its snapshot says {size}"


def sst_files(snapshot: UPath) -> list[tuple[UPath, int]]:
    """Those that a snapshot needs, with their sizes in bytes."""
    with snapshot.open("rb") as opened, zipfile.ZipFile(opened) as file:
        said = json.loads(file.read("metadata").decode().splitlines()[1])
    return [(snapshot.parent / "SSTs" / sst["dfsSstFileName"], int(sst["sizeBytes"])) for sst in said["sstFiles"]]


def _against_checksum(path: UPath, content: bytes) -> str:
    checksum = path.with_name(f".{path.name}.crc")
    raw = checksum.read_bytes() if checksum.exists() else b""
    if len(raw) < HEADER or not raw.startswith(b"crc\0"):
        return ""  # none, as on an object store, or torn itself: the other witnesses speak
    (size,) = struct.unpack(">I", raw[4:HEADER])
    sums = (len(raw) - HEADER) // 4
    wanted = struct.unpack(f">{sums}I", raw[HEADER : HEADER + 4 * sums])
    for number, checked in enumerate(wanted):
        if number * size >= len(content):
            return f"ends after {len(content)} bytes, and more were written"
        if zlib.crc32(content[number * size : (number + 1) * size]) != checked:
            return f"is not what was written, from byte {number * size} on"
    return "is longer than what was written" if len(content) > len(wanted) * size else ""


def _against_form(path: UPath, content: bytes) -> str:
    try:
        if path.parent.name in {"offsets", "commits"}:
            _, metadata, *_ = content.decode().splitlines()
            json.loads(metadata)
        elif path.name == "metadata" and path.parent.name != "_metadata":
            json.loads(content)["id"]
    except (ValueError, KeyError):
        return "does not parse"
    return "is no whole zip file" if path.suffix == ".zip" and not zipfile.is_zipfile(io.BytesIO(content)) else ""
