"""A History, and a Latest that keeps what a change does not say: Spark writes what delta-rs writes,
and keeps what a person has added.
"""

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, given, settings, strategies as st

from spark_jobs.audit.keyed_account import keyed
from spark_jobs.audit.written import written
from spark_jobs.sink.keyed.driver import Load
from spark_jobs.sink.keyed.in_spark import merge_in_spark
from spark_jobs.table.delta.commit import merge
from spark_jobs.table.delta.table import Delta
from spark_jobs.table.entry import Commit
from tests.harness.long_form import LONG
from tests.harness.turns import held_by
from tests.spark.test_keyed_parts import fed
from tests.unit import (
    test_fold as partial,
    test_partial_versions as versions,
    test_versions as history,
)

OWNER = "orders/1"
VERSIONS = [
    [(0, history.Change("a", 0, 1, 1, "paid")), (1, history.Change("b", 0, 1, 1, "paid"))],
    [
        (2, history.Change("a", 0, 3, 3, "sent")), (3, history.Change("b", 0, 2, 2, None)),
        (4, history.Change("c", 0, 1, 1, "paid")),
    ],
    [(5, history.Change("a", 0, 2, 2, "sent")), (6, history.Change("b", 0, 2, 2, None))],
    [(7, history.Change("a", 0, 3, 3, "paid")), (8, history.Change("b", 0, 4, 4, "paid"))],
    [(9, history.Change("d", 0, 1, 1, None))],
]  # fmt: skip
"""A version that ends, a delete, a late version between two, copies, one in the place of another,
and deletes alone.
"""
pytestmark = [
    pytest.mark.usefixtures("settings_of_a_run"),
    held_by("unit/test_versions.py", "unit/test_partial_versions.py", "spark/test_latest.py"),
]
PARTIAL = [
    [partial.Change(key, 5, {"status": "paid"}, at) for at, key in enumerate("abc")],
    [
        partial.Change("a", 6, {"note": "late"}, 10), partial.Change("b", 4, {"status": "old", "note": "older", "weight": 2}, 11),
        partial.Change("c", 6, None, 12), partial.Change("new", 1, {"status": "placed", "weight": 1}, 13),
    ],
    [partial.Change("c", 7, {"note": "again"}, 20), partial.Change("a", 1, {"weight": 1}, 21)],
    [partial.Change("a", 6, {"note": "late"}, 30)],
    [partial.Change("b", 9, None, 40)],
]  # fmt: skip


@pytest.mark.parametrize(
    ("of", "batches", "at"),
    [(history, VERSIONS, history.delta_table), (partial, PARTIAL, partial.table_at)],
    ids=["a History", "partial changes"],
)
def test_spark_writes_what_delta_rs_writes_and_keeps_what_a_person_has_added(
    spark, tmp_path, of, batches, at
):
    here, there = (at(tmp_path / by) for by in ("here", "spark"))
    for number, batch in enumerate(batches):
        note = {"sluice": OWNER, "batch": number, "run": "run"}
        to = Commit(str(there), OWNER, number, note, there, len(batch))
        if of is history:
            one = history.put(here, history.rows(batch), number)
            given = pa.Table.from_pylist(history.rows(batch), history.CHANGES)
        else:
            one = partial.merge(here, batch, number)
            given = pa.Table.from_pylist([each.row() for each in batch], partial.COLUMNS)
        merge_in_spark(spark.createDataFrame(given).cache(), Load(len(batch), 0), of.STEP, to)
        other = written(Delta(there), [OWNER], number)[number]
        assert one == other
        assert keyed(there, other, of.STEP) == keyed(here, one, of.STEP)
        assert every(there) == every(here)
        if number:
            assert fed(there, other.version) == fed(here, one.version)
        else:
            for path in (here, there):
                spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN (note2 STRING)")
                DeltaTable(str(path)).update({"note2": "'mine ' || id"})
    assert {row["note2"] for row in DeltaTable(str(there)).to_pyarrow_table().to_pylist()} > {None}


@pytest.mark.parametrize(
    ("of", "rows", "wanted"),
    [(partial, partial.rows, partial.wanted), (versions, versions.versions, versions.wanted)],
    ids=["rows", "versions"],
)
@given(data=st.data())
@settings(
    max_examples=20 if LONG else 1,
    deadline=None,
    derandomize=not LONG,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_partial_changes_by_spark_are_plain_pythons_in_any_order_and_batches(
    spark, of, rows, wanted, data, tmp_path_factory
):
    path, seen = of.table_at(tmp_path_factory.mktemp("partial") / "orders"), []
    for number, batch in enumerate(data.draw(of.batches())):
        to = Commit(str(path), OWNER, number, {"sluice": OWNER, "batch": number}, path)
        given_rows = spark.createDataFrame(of.table_of(batch)).cache()
        merge_in_spark(given_rows, Load(len(batch), 0), of.STEP, to)
        done = written(Delta(path), [OWNER], number)[number]
        log = keyed(path, done, of.STEP)
        assert done.fates.all == len(batch)
        assert (log.written, log.gained) == (done.fates.written, done.fates.gained)
        seen += batch
        assert rows(path) == wanted(seen)


def every(path):
    return sorted(map(str, DeltaTable(str(path)).to_pyarrow_table().to_pylist()))


def test_a_merge_of_the_update_mode_keeps_what_a_person_has_added(spark, tmp_path):
    at = tmp_path / "table"
    first = pa.table({"key": ["a", "b"], "sum": [1, 2], "mine": ["A", "B"]})
    write_deltalake(at, first)
    to = Commit(str(at), OWNER, 1, {"sluice": OWNER, "batch": 1, "run": "run"}, at, 2)
    merge(spark.createDataFrame([("b", 5), ("c", 6)], "key string, sum bigint"), ("key",), to)
    assert every(at) == sorted(
        map(str, [
            {"key": "a", "sum": 1, "mine": "A"}, {"key": "b", "sum": 5, "mine": "B"},
            {"key": "c", "sum": 6, "mine": None},
        ])
    )  # fmt: skip
