"""Damage and integrity, over checkpoints written letter for letter, with Hadoop's checksums."""

import struct
import zlib

import pytest
from upath import UPath

from spark_jobs.checkpoint.integrity import (
    Integrity,
    find_damage,
    refuse_damaged_logs,
    remove_orphan_checksums,
)
from spark_jobs.checkpoint.log import Checkpoint
from spark_jobs.errors import CheckpointBroken
from tests.harness.refused import fails, has
from tests.unit.checkpoints import begin, commit_batch, plan_batch

CONTENT = bytes(range(256)) * 5


@pytest.fixture
def path(tmp_path) -> UPath:
    """A file of 1,280 bytes, with its checksum."""
    file = UPath(tmp_path / "7")
    file.write_bytes(CONTENT)
    sums = [zlib.crc32(CONTENT[at : at + 512]) for at in range(0, len(CONTENT), 512)]
    (tmp_path / ".7.crc").write_bytes(struct.pack(f">4sI{len(sums)}I", b"crc\0", 512, *sums))
    return file


@pytest.fixture
def checkpoint(tmp_path) -> Checkpoint:
    """Three batches, committed."""
    folder = begin(tmp_path / "spark", {0: 0})
    for batch in range(3):
        plan_batch(folder, batch, {0: 10 * (batch + 1)})
        commit_batch(folder, batch)
    return Checkpoint(folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (CONTENT, ""),
        (b"", "is empty"),
        (CONTENT[:600], "is not what was written, from byte 512 on"),
        (CONTENT[:512], "ends after 512 bytes, and more were written"),
        (CONTENT[:1100] + b"?" + CONTENT[1101:], "is not what was written, from byte 1024 on"),
        (CONTENT + CONTENT, "is not what was written, from byte 1024 on"),
    ],
)
def test_a_file_is_held_against_its_checksum(path, content, said):
    path.write_bytes(content)
    assert find_damage(path) == said


def test_without_a_checksum_its_form_speaks(tmp_path):
    (tmp_path / "commits").mkdir()
    entry = UPath(tmp_path / "commits" / "3")
    assert find_damage(entry) == "is missing"
    entry.write_text('v2\n{"nextBatchWatermarkMs":0}')
    assert find_damage(entry) == ""
    entry.write_text('v2\n{"nextBatchWat')
    assert find_damage(entry) == "does not parse"
    snapshot = UPath(tmp_path / "4_id.zip")
    snapshot.write_bytes(b"PK\x03\x04 and no more")
    assert find_damage(snapshot) == "is no whole zip file"


@pytest.mark.parametrize("entry", ["offsets/2", "offsets/1", "commits/2", "metadata"])
def test_what_spark_goes_on_from_must_be_whole(checkpoint, entry):
    refuse_damaged_logs(checkpoint, "sales")
    (checkpoint.folder / entry).write_text("")
    with fails(CheckpointBroken, "file_damaged"):
        refuse_damaged_logs(checkpoint, "sales")


def test_an_entry_that_is_gone_while_its_commit_is_there_is_found(checkpoint):
    (checkpoint.folder / "offsets" / "2").unlink()
    with fails(CheckpointBroken, "file_damaged", what=has("offsets/2")):
        refuse_damaged_logs(checkpoint, "sales")


def test_older_entries_keep_no_run_from_going_on_and_are_named_all_the_same(checkpoint):
    (checkpoint.folder / "commits" / "1").unlink()
    (checkpoint.folder / "offsets" / "0").write_text("v1")
    refuse_damaged_logs(checkpoint, "sales")
    assert {
        f"{path.parent.name}/{path.name}": said
        for path, said in Integrity(checkpoint).damage.items()
    } == {"offsets/0": "does not parse", "commits/1": "is missing"}


def test_only_checksums_without_a_file_are_removed(checkpoint):
    (checkpoint.folder / "commits" / "2").unlink()
    remove_orphan_checksums(checkpoint)
    assert not (checkpoint.folder / "commits" / ".2.crc").exists()
    assert (checkpoint.folder / "commits" / ".1.crc").exists()
