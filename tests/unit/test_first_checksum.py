"""The checksum of a table's first version is of use, and no more: no store's refusal ends a run."""

import json

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.table.delta.log_entries import write_first_checksum


def made(path):
    deltalake.DeltaTable.create(
        str(path), pa.schema([("k", pa.string()), ("n", pa.int64())]), name="a table"
    )
    return UPath(path)


def test_it_says_what_the_commit_that_made_the_table_says(tmp_path):
    path = made(tmp_path / "table")
    write_first_checksum(path)
    checksum = json.loads((path / "_delta_log" / f"{0:020}.crc").read_text())
    table = deltalake.DeltaTable(str(path))
    metadata, protocol = table.metadata(), table.protocol()
    assert checksum["metadata"]["id"] == str(metadata.id)
    assert checksum["metadata"]["name"] == "a table"
    assert json.loads(checksum["metadata"]["schemaString"]) == json.loads(table.schema().to_json())
    assert checksum["protocol"]["minWriterVersion"] == protocol.min_writer_version
    assert (checksum["numFiles"], checksum["tableSizeBytes"], checksum["allFiles"]) == (0, 0, [])


class Refused(Exception):
    """Like botocore's: no OSError."""


@pytest.mark.parametrize("error", [OSError, Refused])
def test_a_store_that_refuses_it_is_no_error_of_the_run(tmp_path, monkeypatch, error):
    path = made(tmp_path / "table")

    def refuse(*_args, **_given):
        raise error("not now")

    monkeypatch.setattr(type(path), "write_text", refuse)
    write_first_checksum(path)
    assert not (path / "_delta_log" / f"{0:020}.crc").exists()
    assert deltalake.DeltaTable(str(path)).version() == 0
