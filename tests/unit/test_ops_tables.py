"""The ops tables: written twice they say the same, and two runs that write at once lose nothing."""

import json
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake.exceptions import CommitFailedError
from upath import UPath

from spark_jobs.ops import ops_tables
from spark_jobs.ops.schema import SCHEMAS
from spark_jobs.storage.root.paths import OPS_TABLES
from spark_jobs.table.delta import compaction, door
from spark_jobs.table.shared import sql as shared_sql
from spark_jobs.table.shared.table import CHECKPOINTS
from tests.harness.patience import patient
from tests.harness.ran import ran
from tests.harness.roots import ROOT

REPO = Path(__file__).parents[2]
FIRST = "pipeline = 'p' AND batch_id = 0"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WRITE = """
import sys
from upath import UPath
from spark_jobs.ops import ops_tables
root, pipeline = UPath(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for batch in range(int(sys.argv[3])):
    ops_tables.replace(root, "batches", [{"pipeline": pipeline, "batch_id": batch}], f"pipeline = '{pipeline}' AND batch_id = {batch}")
    ops_tables.append(root, "runs", [{"pipeline": pipeline, "run_id": f"run-{batch}"}])
"""


@pytest.fixture
def root(tmp_path) -> UPath:
    return UPath(tmp_path / ROOT)


def batch(pipeline: str = "p", number: int = 0, **columns: Any) -> dict[str, Any]:
    return {"pipeline": pipeline, "generation": "g", "batch_id": number} | columns


def stored(root, table="batches", columns="pipeline, batch_id, read") -> list[tuple[Any, ...]]:
    rows = ops_tables.query(
        root, table, f"SELECT {columns} FROM {table} ORDER BY {columns}"
    ).to_pylist()
    return [tuple(row.values()) for row in rows]


@pytest.mark.parametrize("table", OPS_TABLES)
def test_a_table_that_nobody_wrote_is_empty_has_its_columns_and_stays_unmade(root, table):
    found = ops_tables.query(root, table, f"SELECT * FROM {table}")
    assert (found.num_rows, found.column_names) == (0, SCHEMAS[table].names)
    assert not root.exists()


def test_what_stands_for_an_unwritten_table_is_made_once_and_leaves_no_file(root, monkeypatch):
    with TemporaryDirectory() as folder:
        monkeypatch.setattr("tempfile.tempdir", folder)
        shared_sql._without_rows.cache_clear()  # noqa: SLF001 - as in a new process
        assert stored(root) == []
        assert not any(Path(folder).iterdir())
        monkeypatch.setattr(deltalake.DeltaTable, "create", None)
        assert stored(root) == stored(root / "another") == []
    monkeypatch.undo()
    ops_tables.append(root, "batches", [batch(read=1)])
    assert stored(root) == [("p", 0, 1)]


def test_replacing_twice_is_replacing_once(root):
    for _ in range(2):
        ops_tables.replace(
            root, "batches", [batch(read=5)], "pipeline = 'p' AND generation = 'g' AND batch_id = 0"
        )
    assert stored(root) == [("p", 0, 5)]


def test_replacing_takes_the_place_of_the_rows_it_names_and_of_no_others(root):
    ops_tables.append(root, "batches", [batch(read=1), batch(number=1, read=2), batch("q", read=3)])
    ops_tables.replace(root, "batches", [batch(read=10), batch(read=11)], FIRST)
    assert stored(root) == [("p", 0, 10), ("p", 0, 11), ("p", 1, 2), ("q", 0, 3)]


def test_replacing_with_nothing_removes(root):
    ops_tables.append(root, "batches", [batch(read=1), batch(number=1, read=2)])
    ops_tables.replace(root, "batches", [], FIRST)
    assert stored(root) == [("p", 1, 2)]


@pytest.mark.parametrize("name", ["o'brien", "x' OR '1'='1", '"', "\\"])
def test_a_value_with_quotes_is_a_value(root, name):
    ops_tables.append(root, "batches", [batch("other", read=1)])
    for read in (2, 3):
        where = ops_tables.equals({"pipeline": name, "batch_id": 0})
        ops_tables.replace(root, "batches", [batch(name, read=read)], where)
    assert sorted(stored(root)) == sorted([("other", 0, 1), (name, 0, 3)])


def test_a_table_of_an_older_sluice_has_its_new_columns_empty_and_gets_them_with_the_next_row(root):
    older = pa.schema([field for field in SCHEMAS["batches"] if field.name != "unknown"])
    path = str(root / "ops" / "batches")
    deltalake.DeltaTable.create(path, older, partition_by=["pipeline"])
    deltalake.write_deltalake(path, pa.Table.from_pylist([batch(read=5)], older), mode="append")
    columns = "batch_id, read, unknown"
    assert stored(root, columns=columns) == [(0, 5, None)]
    ops_tables.append(root, "batches", [batch(number=1, read=6, unknown=2)])
    ops_tables.replace(root, "batches", [batch(read=7)], FIRST)
    assert stored(root, columns=columns) == [(0, 7, None), (1, 6, 2)]


@pytest.mark.parametrize("table", OPS_TABLES)
def test_a_table_of_a_newer_sluice_keeps_its_columns_and_takes_rows_without_them(root, table):
    """Whoever goes back a release has such tables."""
    ops_tables.append(root, table, [{"pipeline": "a"}])
    newer = pa.table({"pipeline": ["b"], "newer": pa.array([5], pa.int64())})
    deltalake.write_deltalake(str(root / "ops" / table), newer, mode="append", schema_mode="merge")
    ops_tables.append(root, table, [{"pipeline": "a"}])
    ops_tables.replace(root, table, [{"pipeline": "a"}], "pipeline = 'a'")
    compaction.compact(root / "ops" / table, {"pipeline": "a"})
    ops_tables.remove(root, table, "pipeline = 'c'")
    found = ops_tables.query(root, table, f"SELECT pipeline, newer FROM {table} ORDER BY pipeline")
    assert found.to_pylist() == [{"pipeline": "a", "newer": None}, {"pipeline": "b", "newer": 5}]


def test_raw_bytes_and_times_come_back_as_they_went_in(root):
    value = bytes(range(256))
    ops_tables.append(
        root,
        "quarantine",
        [batch(value=value, key=None, kafka_timestamp=NOON, offset=2**62, reason="é\n'")],
    )
    sql = 'SELECT value, key, kafka_timestamp, "offset", reason FROM quarantine'
    [row] = ops_tables.query(root, "quarantine", sql).to_pylist()
    assert list(row.values()) == [value, None, NOON, 2**62, "é\n'"]


@pytest.mark.parametrize(
    ("row", "column"),
    [
        (batch(read=1, rows_outt=2), "rows_outt"),
        (batch(operators=[{"step": 1}, {"step": 2, "rows_inn": 3}]), r"operators\.rows_inn"),
    ],
)
@pytest.mark.parametrize(
    "write",
    [ops_tables.append, partial(ops_tables.replace, where=FIRST)],
    ids=["append", "replace"],
)
def test_an_unknown_column_is_refused_by_its_name_and_nothing_is_written(root, write, row, column):
    with pytest.raises(ValueError, match=rf"ops\.batches has no column {column}:"):
        write(root, "batches", [batch(read=1), row])
    assert stored(root) == []


def test_a_commit_that_another_one_overtook_is_tried_again(root, monkeypatch):
    write = deltalake.write_deltalake
    overtaken = iter([True, True, False])

    def contended(*arguments: Any, **options: Any):
        if next(overtaken):
            raise CommitFailedError("a concurrent transaction deleted the same data")
        write(*arguments, **options)

    monkeypatch.setattr(deltalake, "write_deltalake", contended)
    ops_tables.append(root, "batches", [batch(read=5)])
    assert stored(root) == [("p", 0, 5)]


def test_a_removal_that_another_one_overtakes_is_tried_again(root, monkeypatch):
    ops_tables.append(root, "batches", [batch(read=1), batch(number=1, read=2)])
    opened = door.open_table
    before = [opened(root / "ops" / "batches")]
    ops_tables.remove(root, "batches", FIRST)
    monkeypatch.setattr(
        door, "open_table", lambda *given: before.pop() if before else opened(*given)
    )
    ops_tables.remove(root, "batches", "batch_id = 1")
    assert not before
    assert stored(root) == []


def test_two_processes_that_write_at_once_both_land_from_the_first_commit_on(root):
    count = 5
    command = [sys.executable, "-c", WRITE, str(root)]
    writers = [
        subprocess.Popen(
            [*command, name, str(count)],
            cwd=REPO,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("p", "q")
    ]
    try:
        for writer in writers:
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            writer.stdin.write("go\n")
            writer.stdin.flush()
        assert [writer.wait(timeout=patient(60)) for writer in writers] == [0, 0]
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    assert stored(root, columns="pipeline, batch_id") == [
        (name, number) for name in ("p", "q") for number in range(count)
    ]
    assert len(stored(root, "runs", "pipeline, run_id")) == 2 * count


def test_a_process_that_only_reads_does_not_load_pandas(root):
    ops_tables.append(root, "batches", [batch()])
    read = (
        "import sys\nfrom upath import UPath\nfrom spark_jobs.ops import ops_tables\n"
        "root = UPath(sys.argv[1])\n"
        'found = ops_tables.query(root, "batches", "SELECT batch_id FROM batches")\n'
        'none = ops_tables.query(root, "late", "SELECT * FROM late")\n'
        'print(found.to_pylist(), none.num_rows, "pandas" in sys.modules)\n'
    )
    command = [sys.executable, "-c", read, str(root)]
    done = ran(*command, check=True)
    assert done.stdout == "[{'batch_id': 0}] 0 False\n"


def test_what_a_plan_loads_is_without_arrow():
    """A plan with nothing new reads no ops table; the bench has its seconds."""
    names = "sys.modules.keys() & {'pyarrow', 'numpy', 'pandas', 'pyspark', 'great_expectations'}"
    load = f"import sys\nimport spark_jobs.cli, spark_jobs.runs.plan\nprint({names})\n"
    command = [sys.executable, "-c", load]
    done = ran(*command, check=True)
    assert done.stdout == "set()\n"


def test_files_for_a_table_of_an_older_sluice_have_their_new_columns_seen(tmp_path):
    """Executors write them: they know the columns of today."""
    root, schema = UPath(tmp_path), SCHEMAS["quarantine"]
    older = schema.remove(schema.get_field_index("left_out"))
    deltalake.DeltaTable.create(str(root / "ops" / "quarantine"), older, partition_by=["pipeline"])
    folder = root / "ops" / "quarantine" / "pipeline=sales" / "abc"
    folder.mkdir(parents=True)
    rows = pa.Table.from_pylist([batch(offset=3, left_out=7)], schema).drop_columns("pipeline")
    pq.write_table(rows, str(folder / "part.parquet"))
    ops_tables.add_files(root, "quarantine", "sales", folder)
    sql = 'SELECT "offset", left_out FROM quarantine'
    assert ops_tables.query(root, "quarantine", sql).to_pylist() == [{"offset": 3, "left_out": 7}]


def test_a_run_reads_at_most_some_twenty_commits_behind_a_checkpoint(root):
    most = int(CHECKPOINTS["delta.checkpointInterval"])
    for number in range(2 * most + 5):
        ops_tables.append(root, "batches", [batch(number=number)])
    log = Path(str(root)) / "ops" / "batches" / "_delta_log"
    newest = json.loads((log / "_last_checkpoint").read_text())["version"]
    commits = max(int(path.stem) for path in log.glob("*.json") if path.stem.isdigit())
    assert commits - newest < most
    assert len(stored(root)) == 2 * most + 5
