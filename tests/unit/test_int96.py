"""INT96: what plain Spark writes keeps its times through every rewrite by delta-rs."""

import ast
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from upath import UPath

import spark_jobs
from spark_jobs.admin.archive_care import kept_steps
from spark_jobs.admin.table_care import table_steps
from spark_jobs.root.paths import Paths
from spark_jobs.storage import compaction, delta, rewrite
from spark_jobs.storage.delta_log import Log, only_rearranges
from tests.unit.specs import pipeline

TIMES = [
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1500, 2, 28, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2024, 2, 29, 12, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
]
DAY = 86_400_000_000
PARTS = ["a b", "c"]


def _int96(at: datetime) -> bytes:
    """Parquet's: nanoseconds of the day, and the Julian day."""
    micros = (at - datetime(1970, 1, 1, tzinfo=UTC)) // (TIMES[0].resolution)
    days, rest = divmod(micros, DAY)
    return (rest * 1000).to_bytes(8, "little") + (days + 2_440_588).to_bytes(4, "little")


def _as_spark(place: Path, rows: pa.Table, name: str = "at") -> None:
    """Write a file as Spark does. pyarrow makes its INT96 from nanoseconds, which years far from
    ours are not: so it writes marks, and their bytes are exchanged for the true ones.
    """
    marks = [datetime(2001, 1, 1 + n, tzinfo=UTC) for n in range(len(TIMES))]
    mark = dict(zip(TIMES, marks, strict=True))
    column = pa.array([mark[at] for at in rows[name].to_pylist()], pa.timestamp("us", "UTC"))
    pq.write_table(
        rows.set_column(rows.schema.get_field_index(name), name, column),
        place,
        use_deprecated_int96_timestamps=True,
        compression="none",
        write_statistics=False,
        store_schema=False,
    )
    content = place.read_bytes()
    for at, instead in mark.items():
        content = content.replace(_int96(instead), _int96(at))
    place.write_bytes(content)


@pytest.fixture
def path(tmp_path):
    """A table of two parts with a file by delta-rs and a person's for each."""
    path = tmp_path / "a table"
    for part in PARTS:
        rows = pa.table(
            {
                "part": [part] * 4,
                "n": [1, 2, 3, 4],
                "at": pa.array(TIMES, pa.timestamp("us", "UTC")),
            }
        )
        deltalake.write_deltalake(path, rows, mode="append", partition_by=["part"])
    log = Log.of(path)
    said = {"timestamp": 1, "operation": "UPDATE", "engineInfo": "Apache-Spark/4.2.0"}
    actions = [{"commitInfo": said}]
    for n, file in enumerate(log.replay(log.newest).added.values()):
        folder, _, _ = file["path"].rpartition("/")
        made = f"{folder}/part-0000{n}-00000000-0000-4000-8000-00000000000{n}.c000.snappy.parquet"
        place = path / rewrite.unquote(made)
        rows = pa.table({"n": [5, 6, 7, 8], "at": pa.array(TIMES, pa.timestamp("us", "UTC"))})
        _as_spark(place, rows)
        add = {**file, "path": made, "size": place.stat().st_size}
        actions.append({"add": {name: add[name] for name in add if name != "stats"}})
    assert log.put(log.newest + 1, actions)
    return UPath(path)


def _rows(path):
    found = delta.dataset(delta.open_table(path)).to_table(columns=["part", "n", "at"])
    return sorted(tuple(row.values()) for row in found.to_pylist())


WHOLE = sorted((part, n + 1, TIMES[n % 4]) for part in PARTS for n in range(8))


def _compact(path):
    compaction.compact(path)
    return WHOLE


def _z_order(path):
    rewrite.z_order(delta.open_table(path), ["n"])
    return WHOLE


def _delete(path):
    rewrite.delete(delta.open_table(path), "n = 5")
    return [row for row in WHOLE if row[1] != 5]


def _update(path):
    rewrite.update(delta.open_table(path), {"n": "50"}, predicate="n = 5")
    return sorted((part, 50 if n == 5 else n, at) for part, n, at in WHOLE)


def _merge(path):
    new = pa.table({"part": ["c"], "n": [6], "at": pa.array(TIMES[:1], pa.timestamp("us", "UTC"))})
    rewrite.merge(
        delta.open_table(path),
        new,
        "old.part = new.part AND old.n = new.n",
        source_alias="new",
        target_alias="old",
    ).when_matched_update({"at": "new.at"}).execute()
    return sorted((p, n, TIMES[0] if (p, n) == ("c", 6) else at) for p, n, at in WHOLE)


def _overwrite(path):
    new = pa.table({"part": ["c"], "n": [6], "at": pa.array(TIMES[:1], pa.timestamp("us", "UTC"))})
    rewrite.overwrite(delta.open_table(path), new, "n = 6 AND part = 'c'")
    return sorted((p, n, TIMES[0] if (p, n) == ("c", 6) else at) for p, n, at in WHOLE)


@pytest.mark.parametrize("how", [_compact, _z_order, _delete, _update, _merge, _overwrite])
def test_times_of_a_persons_files_stay_through_a_rewrite(path, how):
    assert len(rewrite.inexact(delta.open_table(path))) == len(PARTS)

    assert how(path) == _rows(path)
    assert not rewrite.inexact(delta.open_table(path))


def test_maintain_names_the_files_of_a_person_and_writes_them_again(path):
    spec = pipeline()
    paths = Paths(str(path.parent), spec)
    paths.table.parent.mkdir(parents=True)
    path.rename(paths.table)

    [(line, execute)] = [step for step in table_steps(paths, spec) if "INT96" in step[0]]
    execute()

    assert str(paths.table) in line
    assert not rewrite.inexact(delta.open_table(paths.table))
    assert _rows(paths.table) == WHOLE


def test_files_are_written_again_in_one_commit_without_a_change_of_data(path):
    table = delta.open_table(path)
    before = table.version()

    assert rewrite.make_exact(table) == len(PARTS)

    log = Log.of(path)
    assert log.newest == table.version() == before + 1
    assert only_rearranges(log.commit(log.newest))
    assert _rows(path) == WHOLE
    assert not rewrite.make_exact(delta.open_table(path))


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
    _as_spark(tmp_path / "table" / made, rows)
    add = {"path": made, "partitionValues": {}, "size": 1, "modificationTime": 1}
    assert Log.of(path).put(1, [{"add": add | {"dataChange": True}}])

    assert rewrite.make_exact(delta.open_table(path)) == 1

    found = delta.dataset(delta.open_table(path)).to_table().to_pylist()
    assert repr(found) == repr(rows.to_pylist())
    assert not rewrite.inexact(delta.open_table(path))


REWRITING = {"merge", "delete", "update", "compact", "z_order", "write_deltalake"}


def _calls(source):
    """Rewrites by delta-rs in a module: its methods on what is named table, and overwrites."""
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        on, name = ast.unparse(call.func.value), call.func.attr
        modes = [word for word in call.keywords if word.arg == "mode"]
        if name == "write_deltalake":
            if not modes or ast.literal_eval(modes[0].value) != "append":
                yield name
        elif (
            name in REWRITING and (on in {"table", "stored"} or "open_table" in on)
        ) or on.endswith(".optimize"):
            yield f"{on}.{name}"


def test_no_module_but_the_door_lets_delta_rs_rewrite_a_table():
    home = Path(spark_jobs.__file__).parent
    found = {
        (str(file.relative_to(home)), call)
        for file in home.rglob("*.py")
        if "from delta.tables" not in (text := file.read_text())  # Spark's own
        for call in _calls(text)
    }
    assert {file for file, _ in found} == {"storage/rewrite.py"}


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
    _as_spark(tmp_path / "archive" / made, rows, "kafka_timestamp")
    size = (path / made).stat().st_size
    add = {name: file[name] for name in file if name != "stats"} | {"path": made, "size": size}
    gone = {"path": file["path"], "dataChange": True, "deletionTimestamp": 1}
    said = {"timestamp": 1, "operation": "UPDATE", "engineInfo": "Apache-Spark/4.2.0"}
    assert log.put(log.newest + 1, [{"commitInfo": said}, {"remove": gone}, {"add": add}])
    paths = SimpleNamespace(table=path)
    assert [*kept_steps(paths, TIMES[2])] == []
    rewrite.make_exact(delta.open_table(path))
    assert [*kept_steps(paths, TIMES[2])] == []
