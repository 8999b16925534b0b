"""A table that follows a key: what Spark does for it that needs no drain."""

import json
from itertools import combinations
from types import SimpleNamespace

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from upath import UPath

from spark_jobs.audit.by_key import keyed
from spark_jobs.checks.changed_rows import changed_rows
from spark_jobs.checks.rows import _changed as by_spark
from spark_jobs.sink.keyed import commit
from spark_jobs.sink.keyed.fates import ALL, COPIES, Fates
from spark_jobs.sink.writer import written
from spark_jobs.spec import GroupState
from spark_jobs.steps.contents import contents
from spark_jobs.steps.group_state import initial_state
from spark_jobs.values.own_columns import DELETED, OF_A_KEY
from tests.unit.test_latest import COLUMNS, OWNER, STEP, Change, merge, table_at

NESTED = {
    "array<bigint>": ["null", "array()", "array(null)", "array(null, 1L)", "array(1L, null)", "array(1L)", "array(0L, 1L)"],
    "struct<a:bigint,b:bigint>": ["null", "named_struct('a', null, 'b', null)", "named_struct('a', 1L, 'b', null)", "named_struct('a', null, 'b', 1L)", "named_struct('a', 0L, 'b', 1L)"],
    "array<array<bigint>>": ["array(array(0L))", "array(array(), array(), array())", "array(array(0L, 0L))", "array(array(0L), array(0L))", "array(null)"],
    "map<string,bigint>": ["null", "map()", "map('a', null)", "map('a', 0L)", "map('a', 1L, 'b', 2L)", "map('a', 2L, 'b', 1L)"],
    "map<string,array<map<string,timestamp>>>": ["map('a', array(map('b', timestamp_micros(1))))", "map('a', array(map('b', timestamp_micros(2))))", "map('a', array(map('b', null)))"],
    "string": ["null", "''", "'0'"],
}  # fmt: skip


@pytest.mark.parametrize("kind", NESTED)
def test_two_values_that_differ_anywhere_have_two_contents(spark, kind):
    values = NESTED[kind]
    table = " UNION ALL ".join(f"SELECT CAST({of} AS {kind}) AS v" for of in values)
    given = spark.sql(f"SELECT v, false AS {DELETED} FROM ({table})")
    found = [row[0] for row in given.select(contents([given.schema["v"]])).collect()]
    same = {pair for pair in combinations(values, 2) if len({found[values.index(v)] for v in pair}) == 1}  # fmt: skip
    assert same == set()


def test_the_order_in_which_a_map_has_its_keys_makes_no_other_contents(spark):
    given = spark.sql(f"SELECT v, false AS {DELETED} FROM VALUES (map('a', 1, 'b', 2)), (map('b', 2, 'a', 1)) AS t(v)")  # fmt: skip
    one, other = (row[0] for row in given.select(contents([given.schema["v"]])).collect())
    assert one == other


def test_the_fates_are_those_of_the_version_that_was_merged_into(spark, tmp_path):
    """A person deletes the row while Spark merges: its change has inserted, and not updated."""
    path = table_at(tmp_path / "orders")
    merge(path, [Change("a", 1, "x", "placed", 0)], 0)
    read = tmp_path / "read"
    read.mkdir()
    place, seen = str(path), str(read)

    def disturbed(batches):
        import os  # noqa: PLC0415 - in a worker of Spark

        for batch in batches:
            times = len(os.listdir(seen))  # noqa: PTH208 - as above
            open(f"{seen}/{times}", "w").close()  # noqa: PTH123 - as above
            if times == 2:  # the fates are counted, and the table is open
                from deltalake import DeltaTable  # noqa: PLC0415 - as above

                DeltaTable(place).delete("id = 'a'")
            yield batch

    row = Change("a", 2, "x", "paid", 5).row() | {ALL: 1, COPIES: 1}
    counts = [pa.field(ALL, pa.int64()), pa.field(COPIES, pa.int64())]
    changes = spark.createDataFrame(pa.Table.from_pylist([row], pa.schema([*COLUMNS, *counts])))
    changes = changes.coalesce(1).mapInArrow(disturbed, changes.schema)
    note = {"sluice": OWNER, "batch": 1, "run": "run"}
    commit.merge_in_spark(changes, STEP, commit.Commit(place, OWNER, 1, note, path))
    done = written(path, [OWNER], 1)[1]
    assert done.fates == Fates(inserted=1)
    log = keyed(path, done)
    assert (log.written, log.gained) == (1, 1)


MAPPED = pa.schema([*COLUMNS, pa.field("tags", pa.map_(pa.string(), pa.string()))])


def mapped(tmp_path) -> UPath:
    """Three versions of a table with a map: b is changed, and c goes."""
    path = UPath(tmp_path / "mapped")
    feed = {"delta.enableChangeDataFeed": "true"}
    first = [Change(each, 1, "x", "placed").row() | {"tags": [("k", each)]} for each in "abc"]
    rows = pa.Table.from_pylist(first, MAPPED)
    write_deltalake(str(path), rows, configuration=feed, partition_by=[DELETED])
    table = DeltaTable(str(path))
    table.update({"status": "'paid'"}, predicate="id = 'b'")
    table.delete("id = 'c'")
    return path


def test_changed_rows_with_a_map_are_told_one_by_one(spark, tmp_path):
    path = mapped(tmp_path)
    run = SimpleNamespace(
        spark=spark,
        spec=SimpleNamespace(keyed=STEP, output_mode="append"),
        target=SimpleNamespace(table=path),
    )
    found = sorted(map(json.dumps, (row.asDict() for row in by_spark(run, 0, 2).collect())))
    here = changed_rows(spark, path, STEP, 0, 2)
    assert found == sorted(map(json.dumps, (row.asDict() for row in here.collect())))
    assert [json.loads(row)["tags"] for row in found] == [{"k": "b"}]


def test_a_first_state_from_a_table_that_follows_a_key_has_its_rows_and_no_delete(spark, tmp_path):
    path = table_at(tmp_path / "tables" / "orders")
    merge(path, [Change("a", 1, "x", "placed", 0), Change("b", 1, "x", None, 1)], 0)
    step = GroupState.model_construct(keys=("id",), initial_state="orders")
    found = initial_state(spark.range(1), step, UPath(tmp_path))
    assert [row.id for row in found.collect()] == ["a"]
    assert not {*OF_A_KEY} & {*found.columns}
