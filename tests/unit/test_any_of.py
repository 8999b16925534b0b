"""A condition of many parts, for delta-rs itself."""

import deltalake
import pyarrow as pa

from spark_jobs.values.spans import any_of

MANY = 20_000


def test_delta_rs_takes_a_condition_of_very_many_parts(tmp_path):
    """A chain of ORs of this length ends the process."""
    deltalake.write_deltalake(str(tmp_path), pa.table({"n": [1, 3, 5]}))
    table = deltalake.DeltaTable(str(tmp_path))
    table.delete(any_of(f"n = {2 * each + 3}" for each in range(MANY)))
    assert table.to_pyarrow_table().column("n").to_pylist() == [1]
