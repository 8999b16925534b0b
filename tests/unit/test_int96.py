"""INT96: what plain Spark writes keeps its times through every rewrite by delta-rs."""

from types import SimpleNamespace

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.admin.care import kept_steps, table_steps
from spark_jobs.spec import Layout
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta import compaction, door, rewrite
from spark_jobs.table.delta.delta_log import Log, only_rearranges
from tests.unit.int96 import PARTS, TIMES, as_spark, persons_table
from tests.unit.specs import pipeline


@pytest.fixture
def path(tmp_path):
    persons_table(tmp_path / "a table")
    return UPath(tmp_path / "a table")


def _rows(path):
    found = door.dataset(door.open_table(path)).to_table(columns=["part", "n", "at"])
    return sorted(tuple(row.values()) for row in found.to_pylist())


WHOLE = sorted((part, n + 1, TIMES[n % 4]) for part in PARTS for n in range(8))


def _compact(path):
    compaction.compact(path)
    return WHOLE


def _z_order(path):
    door.open_table(path).optimize.z_order(["n"])
    return WHOLE


def _delete(path):
    door.open_table(path).delete("n = 5")
    return [row for row in WHOLE if row[1] != 5]


def _update(path):
    door.open_table(path).update({"n": "50"}, predicate="n = 5")
    return sorted((part, 50 if n == 5 else n, at) for part, n, at in WHOLE)


def _merge(path):
    new = pa.table({"part": ["c"], "n": [6], "at": pa.array(TIMES[:1], pa.timestamp("us", "UTC"))})
    door.open_table(path).merge(
        new, "old.part = new.part AND old.n = new.n", source_alias="new", target_alias="old"
    ).when_matched_update({"at": "new.at"}).execute()
    return sorted((p, n, TIMES[0] if (p, n) == ("c", 6) else at) for p, n, at in WHOLE)


def _overwrite(path):
    new = pa.table({"part": ["c"], "n": [6], "at": pa.array(TIMES[:1], pa.timestamp("us", "UTC"))})
    rewrite.overwrite(door.open_table(path), new, "n = 6 AND part = 'c'")
    return sorted((p, n, TIMES[0] if (p, n) == ("c", 6) else at) for p, n, at in WHOLE)


@pytest.mark.parametrize("how", [_compact, _z_order, _delete, _update, _merge, _overwrite])
def test_times_of_a_persons_files_stay_through_a_rewrite(path, how):
    assert len(rewrite.inexact(door.open_table(path))) == len(PARTS)

    assert how(path) == _rows(path)
    assert not rewrite.inexact(door.open_table(path))


def test_maintain_names_the_files_of_a_person_and_writes_them_again(path):
    spec = pipeline()
    paths = Paths(str(path.parent), spec)
    paths.table.parent.mkdir(parents=True)
    path.rename(paths.table)

    [(line, execute)] = [step for step in table_steps(paths, spec) if "INT96" in step[0]]
    execute()

    assert str(paths.table) in line
    assert not rewrite.inexact(door.open_table(paths.table))
    assert _rows(paths.table) == WHOLE


def test_files_are_written_again_in_one_commit_without_a_change_of_data(path):
    table = door.open_table(path)
    before = table.version()

    assert rewrite.make_exact(table) == len(PARTS)

    log = Log.of(path)
    assert log.newest == table.version() == before + 1
    assert only_rearranges(log.commit(log.newest))
    assert _rows(path) == WHOLE
    assert not rewrite.make_exact(door.open_table(path))


def test_numbers_that_are_none_stay_beside_times_that_are_written_again(tmp_path):
    """NaN is no number, and equal to none: 0.0 / 0.0 in a person's SQL, or a producer's double."""
    path, nan = UPath(tmp_path / "table"), float("nan")
    parts = pa.struct([("n", pa.float32()), ("at", pa.timestamp("us", "UTC"))])
    rows = pa.table(
        {
            "at": pa.array(TIMES, pa.timestamp("us", "UTC")),
            "share": [nan, -0.0, 1.1, None],
            "several": pa.array([[("k", [{"n": nan, "at": None}])], [], None, None], pa.map_(pa.string(), pa.list_(parts))),
        }
    )  # fmt: skip
    deltalake.DeltaTable.create(str(path), deltalake.Schema.from_arrow(rows.schema))
    made = "part-00000-00000000-0000-4000-8000-000000000000.c000.snappy.parquet"
    as_spark(tmp_path / "table" / made, rows)
    add = {"path": made, "partitionValues": {}, "size": 1, "modificationTime": 1}
    assert Log.of(path).put(1, [{"add": add | {"dataChange": True}}])

    assert rewrite.make_exact(door.open_table(path)) == 1

    found = door.dataset(door.open_table(path)).to_table().to_pylist()
    assert repr(found) == repr(rows.to_pylist())
    assert not rewrite.inexact(door.open_table(path))


def test_no_record_of_an_archive_is_removed_by_a_time_that_is_misread(tmp_path):
    """The year 9999 is 1816 to delta-rs."""
    path = UPath(tmp_path / "archive")
    rows = pa.table(
        {
            "topic_id": ["t"] * 2,
            "partition": pa.array([0, 0], pa.int32()),
            "offset": [0, 1],
            "kafka_timestamp": pa.array(TIMES[3:] * 2, pa.timestamp("us", "UTC")),
        }
    )
    deltalake.write_deltalake(path, rows)
    log = Log.of(path)
    [file] = log.replay(log.newest).added.values()
    made = "part-00000-00000000-0000-4000-8000-000000000000.c000.snappy.parquet"
    as_spark(tmp_path / "archive" / made, rows, "kafka_timestamp")
    size = (path / made).stat().st_size
    add = {name: file[name] for name in file if name != "stats"} | {"path": made, "size": size}
    gone = {"path": file["path"], "dataChange": True, "deletionTimestamp": 1}
    said = {"timestamp": 1, "operation": "UPDATE", "engineInfo": "Apache-Spark/4.2.0"}
    assert log.put(log.newest + 1, [{"commitInfo": said}, {"remove": gone}, {"add": add}])
    paths = SimpleNamespace(table=path, kept_by=Layout.kept_by)
    assert [*kept_steps(paths, TIMES[2])] == []
    rewrite.make_exact(door.open_table(path))
    assert [*kept_steps(paths, TIMES[2])] == []
