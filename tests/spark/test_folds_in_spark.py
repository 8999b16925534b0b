"""Rows of partial changes, which Spark writes: what a person writes meanwhile stays."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from spark_jobs.audit.written import written
from spark_jobs.sink.keyed import in_spark
from spark_jobs.sink.keyed.driver import Load
from spark_jobs.steps.keyed.fates import Fates
from spark_jobs.storage import failpoint
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit
from tests.unit.test_fold import COLUMNS, OWNER, STEP, Change, merge, rows, table_at


@pytest.mark.parametrize("place", ["noted", *failpoint.REPLACING_POINTS])
def test_a_person_who_writes_between_the_read_and_the_commit_is_not_overwritten(
    spark, tmp_path, monkeypatch, place
):
    path = table_at(tmp_path / "orders")
    merge(
        path,
        [
            Change(key, 1, {"status": "placed", "note": "gift", "weight": 1}, n)
            for n, key in enumerate("ab")
        ],
        0,
    )
    left = [1]

    def act(name):
        if name == place and left[0]:
            left[0] -= 1
            DeltaTable(str(path)).update({"note": "'mine'", "weight": "9"})

    noted = in_spark.noted
    monkeypatch.setattr(failpoint, "at", act)
    monkeypatch.setattr(in_spark, "noted", lambda *of: (noted(*of), act("noted"))[0])
    batch = [
        Change("a", 2, {"status": "paid", "weight": 3}, 5),
        Change("new", 1, {"status": "placed"}, 6),
    ]
    changes = spark.createDataFrame(pa.Table.from_pylist([c.row() for c in batch], COLUMNS))
    to = Commit(str(path), OWNER, 1, {"sluice": OWNER, "batch": 1, "run": "run"}, path, 2)
    in_spark.merge_in_spark(changes.cache(), Load(2, 0), STEP, to)
    assert left == [0]
    assert rows(path) == {
        "a": ["paid", "mine", 3],
        "b": ["placed", "mine", 9],
        "new": ["placed", None, None],
    }
    assert written(Delta(path), [OWNER], 1)[1].fates == Fates(inserted=1, updated=1)
