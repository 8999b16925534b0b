"""Maintenance of a table with `cluster_by`: what it puts into order, and that it ends."""

import json
import logging
import random
from datetime import timedelta

import deltalake
import pyarrow as pa
import pytest
from upath import UPath

from spark_jobs.admin.care import table_steps
from spark_jobs.errors import MaintenanceRefused, SpecInvalid
from spark_jobs.spec import Layout, Transform
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.care_steps import due, put_in_order
from spark_jobs.table.delta.table import Delta
from tests.harness.aged import age
from tests.harness.refused import fails, has
from tests.unit.specs import pipeline
from tests.unit.test_table_layout import COLUMNS, DAY, FIRST, TOPIC, each_once, rows

BY = ("shop",)


def appended(path: UPath, count: int, seed: int, days: int = 1):
    """A batch of sales in random shops, about 20 bytes each."""
    picked = random.Random(seed)
    times = [FIRST + picked.randrange(days) * DAY + timedelta(seconds=n) for n in range(count)]
    batch = pa.table(
        {
            "id": [picked.randrange(2**60) for _ in times],
            "at": pa.array(times, pa.timestamp("us", "UTC")),
            "day": [at.date() for at in times],
            "shop": [picked.randbytes(8).hex() for _ in times],
        }
    )
    deltalake.write_deltalake(str(path), batch, mode="append")


@pytest.fixture(params=[(), ("day",)], ids=["whole", "parted"])
def path(request, tmp_path) -> UPath:
    """A table of several large files a partition, as ten batches left it."""
    made = UPath(tmp_path / "t")
    small = {"delta.targetFileSize": "100kb"}
    Delta(made).ensure(COLUMNS, each_once(partition_by=request.param, properties=small), "g1")
    for seed in range(10):
        appended(made, 2000, seed, days=2)
    return made


def files(path: UPath) -> set[str]:
    return {*deltalake.DeltaTable(str(path)).file_uris()}


def test_what_a_z_order_wrote_is_left_until_much_is_new(path):
    held = rows(path)
    there = len(files(path))
    assert put_in_order(path, BY) == there
    ordered = files(path)
    assert rows(path) == held
    assert len(ordered) > 3
    assert (due(path, BY), put_in_order(path, BY), files(path)) == ([], 0, ordered)
    for seed in (20, 21):
        appended(path, 10, seed)
    assert put_in_order(path, BY) in {2, 3}, "two small files, and perhaps a Z-order's last one"
    assert len(ordered - files(path)) <= 1
    assert (due(path, BY), put_in_order(path, BY)) == ([], 0)
    for seed in range(30, 40):
        appended(path, 2000, seed)
    assert put_in_order(path, BY) > 10, "most of a partition is new"
    assert (put_in_order(path, BY), len(rows(path))) == (0, len(held) + 20 + 20_000)


def test_another_order_is_made_once(path):
    put_in_order(path, BY)
    assert due(path, BY) == []
    assert all(each.whole for each in due(path, ("id",)))
    assert put_in_order(path, ("id",)) > 0
    assert due(path, ("id",)) == []


def test_files_whose_commit_the_log_has_lost_are_told_by_their_size(path):
    put_in_order(path, BY)
    made = deltalake.DeltaTable(str(path))
    made.create_checkpoint()
    for entry in (path / "_delta_log").glob("*.json"):
        entry.unlink()
    (path / "_delta_log" / f"{made.version():020}.json").write_text("")
    assert due(path, BY) == []


def steps(root, **layout) -> dict[str, object]:
    """What `sluice maintain` would do, and with which function."""
    sql = Transform(sql="SELECT *, shop AS till FROM rows")
    spec = pipeline(
        name="sales", topic=TOPIC, steps=(sql,), watermark_delay=None, layout=Layout(**layout)
    )
    return dict(table_steps(Paths(str(root), spec), spec)), spec


def made(root) -> UPath:
    path = Paths(str(root), pipeline(name="sales")).table
    Delta(path).ensure(COLUMNS, each_once(partition_by=("day",)), "g1")
    for seed in (0, 1):
        appended(path, 10, seed)
    return path


def test_a_column_that_the_table_has_not_stops_the_drain_and_no_maintenance(tmp_path):
    path = made(tmp_path)
    planned, spec = steps(tmp_path, partition_by=("day",), cluster_by=("nope", "shop"))
    with fails(SpecInvalid, "fields_refused", problems=has("nope")):
        Delta(path).ensure(COLUMNS, spec, "g1")
    for execute in planned.values():
        execute()
    assert len(files(path)) == 1


def test_files_are_removed_before_any_are_joined(tmp_path):
    path = made(tmp_path)
    (path / "stray.parquet").write_text("x")
    age(tmp_path, 8)
    planned, _ = steps(tmp_path, partition_by=("day",))
    assert [line.split()[0] for line in planned] == ["remove", "remove", "join"]


def test_a_date_that_no_python_has_is_refused_in_words(tmp_path):
    path = made(tmp_path)
    last = max((path / "_delta_log").glob("*.json"))
    last.write_text(last.read_text().replace('"day":"2026-03-01"', '"day":"+10000-01-01"'))
    planned, _ = steps(tmp_path, partition_by=("day",))
    (execute,) = planned.values()
    with fails(MaintenanceRefused, "needs_spark", path=path):
        execute()


def test_properties_of_a_table_that_only_spark_writes_are_a_warning(tmp_path, caplog):
    path = made(tmp_path)
    names = ["clustering", "domainMetadata"]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": names}
    version = Delta(path).version() + 1
    entry = path / "_delta_log" / f"{version:020}.json"
    entry.write_text(json.dumps({"protocol": protocol}) + "\n")
    declared = each_once(partition_by=("day",), properties={"team": "shops"})
    with caplog.at_level(logging.WARNING):
        assert Delta(path).ensure(COLUMNS, declared, "g1") == version
    assert "team" in caplog.text
