"""Versions of a History that keeps what a change lacks: Spark, in a repair, makes what the sink
makes by Arrow, beside a person's corrections too.
"""

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from spark_jobs.steps.keyed.buckets import rows_of_keys
from spark_jobs.values.own_columns import DELETED
from tests.unit.test_partial_versions import CHANGES, PAYLOAD, STEP, Change, put, table_at, versions

FIRST = [Change("a", 1, {"status": "new", "note": "x"}, 0), Change("a", 2, {"status": "paid"}, 1)]


@pytest.mark.parametrize(
    "change",
    [
        Change("a", 3, {"status": "sent"}, 5),
        Change("a", 3, {"status": "sent", "note": "y"}, 5),
        Change("a", 1, {"status": "new", "note": "x"}, 5),
        Change("a", 2, {"status": "paid"}, 5),
        Change("a", 2, {"status": "other"}, 5),
        Change("a", 0, {"note": "before"}, 5),
        Change("a", 4, None, 5),
    ],
    ids=["behind", "sets it", "copy of the setter", "copy", "at its place", "before", "delete"],
)
@pytest.mark.parametrize("mended", [False, True], ids=["as it came", "mended"])
def test_spark_makes_what_arrow_makes(spark, tmp_path, change, mended):
    path = table_at(tmp_path / "orders")
    put(path, FIRST, 0)
    if mended:
        DeltaTable(str(path)).update({"note": "'mine'"}, predicate="lsn = 2")
    given = spark.createDataFrame(pa.Table.from_pylist([change.row()], CHANGES))
    known = spark.read.format("delta").load(str(path))
    rows = rows_of_keys(given, known, STEP, 1).collect()
    put(path, [change], 1)
    found = {(r["id"], r["lsn"]): [r[name] for name in PAYLOAD] for r in rows if not r[DELETED]}
    assert found == versions(path)
