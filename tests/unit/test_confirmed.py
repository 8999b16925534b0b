"""What is committed under a lease is committed to what was read before the lease was looked at."""

import deltalake
import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError
from upath import UPath

from spark_jobs.checkpoint.lease import lease
from spark_jobs.table.delta import door

ROWS = pa.table({"p": ["a", "b"], "n": [1, 2]})


def test_who_commits_here_lands_behind_nobody(tmp_path):
    deltalake.write_deltalake(tmp_path, ROWS)
    read = door.open_table(UPath(tmp_path))
    deltalake.write_deltalake(tmp_path, ROWS, mode="append")
    with pytest.raises(CommitFailedError):
        deltalake.write_deltalake(read, ROWS, mode="append", commit_properties=door.here())
    with pytest.raises(CommitFailedError):
        door.set_property(read, "sluice.fence", "1")
    assert door.open_table(UPath(tmp_path)).version() == 1


def test_of_a_shared_table_only_commits_under_the_same_lease_are_in_the_way(tmp_path):
    path = UPath(tmp_path / "t")
    deltalake.write_deltalake(str(path), ROWS)

    def write(read: deltalake.DeltaTable, who: str):
        with lease(UPath(tmp_path / who), "run") as held:
            deltalake.write_deltalake(read, ROWS, mode="append", commit_properties=door.ours(held))

    one, two = door.open_table(path), door.open_table(path)
    write(door.open_table(path), "another")
    write(one, "mine")
    with pytest.raises(CommitFailedError):
        write(two, "mine")
    assert door.open_table(path).version() == 2
