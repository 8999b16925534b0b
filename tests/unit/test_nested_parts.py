"""A table of two partition columns, as that of a History: a folder in a folder."""

import os
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.table.delta import compaction, door

PARTS = {"deleted": [False, True], "current": [True, False]}
A_YEAR_AGO = 365 * 86_400


@pytest.fixture
def table(tmp_path):
    for number in (1, 2):
        rows = pa.table({"n": [number, number], **PARTS})
        deltalake.write_deltalake(str(tmp_path), rows, mode="append", partition_by=[*PARTS])
    return UPath(tmp_path)


def test_a_version_is_whole_while_each_of_its_files_is_there(table):
    assert door.version_is_whole(table, 0)
    of_0, *_ = deltalake.DeltaTable(str(table), version=0).file_uris()
    Path(of_0).unlink()
    assert not door.version_is_whole(table, 0)


def test_a_checksum_that_hadoop_wrote_goes_with_its_file(table):
    kept, *_ = table.rglob("*.parquet")
    left = kept.with_name(".gone.parquet.crc"), kept.with_name(f".{kept.name}.crc")
    for checksum in left:
        checksum.write_bytes(b"crc\0")
        os.utime(checksum, (0, checksum.stat().st_mtime - A_YEAR_AGO))
    assert compaction.remove_checksums(table, execute=True) == 1
    assert [each.exists() for each in left] == [False, True]
