"""A root that delta-rs may not write: the error names the folder."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from upath import UPath

from spark_jobs.errors import RootNotWritable
from spark_jobs.ops import ops_tables
from spark_jobs.storage.root.store import translate_store_error
from tests.harness.nobody import NOBODY, needs_two_users
from tests.harness.ran import python

MAINTAIN = f"""
import os
import asyncio, pyarrow.dataset, upath.core  # nobody may not be able to load a module
import spark_jobs.admin.maintain, spark_jobs.cli.admin
from spark_jobs.cli import app
from spark_jobs.ops import schema
os.setuid({NOBODY})
app(["maintain", "flight_events", "--execute"])
"""


@needs_two_users
def test_maintenance_names_the_folder_of_a_root_that_it_may_only_read():
    with TemporaryDirectory() as folder:
        ops_tables.append(UPath(folder), "batches", [{"pipeline": "flight_events", "batch_id": 0}])
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        known = {
            "SLUICE_ROOT": folder,
            "SLUICE_KAFKA": "127.0.0.1:9092",
            "SLUICE_LOCKS": "one-host",
        }

        done = python(MAINTAIN, env=os.environ | known, check=False)

    said = done.stdout + done.stderr
    assert done.returncode == RootNotWritable.exit_status, said
    assert f"{RootNotWritable.code}" in said
    assert f"{folder}/ops/batches/_delta_log cannot be written" in said


COLOURED = (
    "Generic LocalFileSystem error\n          \x1b[31m↳\x1b[0m Unable to open file /r/t/_delta_log/"
    "00000000000000000002.json#1\n           \x1b[31m↳\x1b[0m Permission denied (os error 13)\n"
)
PLAIN = (
    "Kernel error: Arrow error: External: Generic LocalFileSystem error: Unable to open file "
    "/r/a b/part-0.parquet{}: {} (os error {})"
)


@pytest.mark.parametrize(
    ("said", "reason", "folder"),
    [
        (COLOURED, "not_writable", "/r/t/_delta_log"),
        (PLAIN.format("#1", "Permission denied", 13), "not_writable", "/r/a b"),
        (PLAIN.format("#1", "Read-only file system", 30), "not_writable", "/r/a b"),
        (PLAIN.format("#12", "No space left on device", 28), "not_writable", "/r/a b"),
        (PLAIN.format("", "Permission denied", 13), "not_readable", "/r/a b"),
    ],
)
def test_what_delta_rs_says_of_a_disk_names_the_folder(said, reason, folder):
    found = translate_store_error(OSError(said))

    assert isinstance(found, RootNotWritable)
    assert found.reason == reason
    assert f"{folder} cannot be" in str(found)


def test_a_file_that_is_gone_is_no_matter_of_rights():
    gone = PLAIN.format("", "No such file or directory", 2)

    assert translate_store_error(OSError(gone)) is None
