"""INT96 by plain Spark's own defaults: a door of delta-rs keeps its times."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import duckdb
import pyarrow.parquet as pq
from deltalake import DeltaTable
from upath import UPath

from local.broker import create_topic
from spark_jobs.admin.maintain import maintain
from spark_jobs.messages.request import Request
from spark_jobs.repair.planner import plan_repair
from spark_jobs.repair.stage import stage
from spark_jobs.repair.swap import swap
from spark_jobs.spec import Field, Latest, Pipeline, Topic
from spark_jobs.table.delta import compaction, rewrite
from spark_jobs.table.delta.delta_log import Log
from tests.harness.listener import Listener
from tests.harness.turns import held_by

pytestmark = held_by("unit/test_int96.py", "unit/test_int96_reads.py")

TIMES = ("0001-01-01 00:00:00", "1500-02-28 23:59:59.999999", "9999-12-31 23:59:59.999999")


@contextmanager
def plain(spark: Any) -> Iterator[None]:
    """Spark as a person has it, whose default a run's session does not have."""
    kind = "spark.sql.parquet.outputTimestampType"
    before = spark.conf.get(kind)
    spark.conf.set(kind, "INT96")
    try:
        yield
    finally:
        spark.conf.set(kind, before)


def test_times_that_plain_spark_updated_stay_when_delta_rs_joins_their_files(spark, tmp_path):
    path = str(tmp_path / "a table")
    with plain(spark):
        for n, at in enumerate(TIMES):
            rows = spark.sql(
                f"SELECT 'a b' AS part, {n} AS n, TIMESTAMP '{at}' AS at, "
                f"array(named_struct('at', TIMESTAMP '{at}', 'n', TIMESTAMP_NTZ '{at}')) AS more"
            )
            rows.coalesce(1).write.format("delta").mode("append").partitionBy("part").save(path)
        spark.sql(f"UPDATE delta.`{path}` SET n = n + 10 WHERE n = 1")
    read = (
        f"SELECT part, n, cast(at AS string), cast(more AS string) FROM delta.`{path}` ORDER BY n"
    )
    rows = spark.sql(read).collect()
    assert len(rewrite.inexact(DeltaTable(path))) == len(TIMES)

    compaction.compact(UPath(path))

    assert len(DeltaTable(path).file_uris()) == 1
    assert spark.sql(read).collect() == rows
    assert [row[2] for row in rows] == [TIMES[0], TIMES[2], TIMES[1]]


def test_a_deletion_vector_stays_with_the_file_that_is_written_again(spark, tmp_path):
    path = str(tmp_path / "t")
    with plain(spark):
        rows = ", ".join(f"({n}, TIMESTAMP '{at}')" for n, at in enumerate(TIMES))
        spark.sql(
            f"CREATE TABLE delta.`{path}` (n INT, at TIMESTAMP) USING delta "
            "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
        )
        spark.sql(f"INSERT INTO delta.`{path}` SELECT /*+ COALESCE(1) */ * FROM VALUES {rows}")
        spark.sql(f"DELETE FROM delta.`{path}` WHERE n = 0")

    assert rewrite.make_exact(DeltaTable(path)) == 1

    found = spark.sql(f"SELECT n, cast(at AS string) FROM delta.`{path}` ORDER BY n").collect()
    assert [tuple(row) for row in found] == [(1, TIMES[1]), (2, TIMES[2])]
    [file] = Log.of(UPath(path)).replay(DeltaTable(path).version()).added.values()
    assert file["deletionVector"]


FIELDS = (
    Field(name="id", type="string"),
    Field(name="lsn", type="bigint"),
    Field(name="at", type="timestamp"),
    Field(name="status", type="string"),
)
ORDERS = Pipeline(
    name="orders_far",
    about="Orders.",
    topic=Topic(name="orders", event_time="at", fields=FIELDS),
    steps=(Latest(keys=("id",), order_by=("lsn",)),),
)
OPTIONAL = (*FIELDS[:-1], FIELDS[-1].model_copy(update={"required": False}))
NEAR = datetime(2026, 1, 1, tzinfo=UTC)
FAR = dict(zip("abc", TIMES, strict=True))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _change(key: str, lsn: int, **more: Any) -> str:
    return json.dumps({"id": key, "lsn": lsn, "at": NEAR.isoformat()} | more)


class Orders:
    """A drained pipeline, and what each reader has of its table."""

    def __init__(self, spark: Any, made: Any) -> None:
        self.spark, self.made, self.path = spark, made, made.paths.table

    def edited(self) -> None:
        """A person gives three orders other times: their files have INT96, another's as well."""
        times = " ".join(f"WHEN '{key}' THEN TIMESTAMP '{at}'" for key, at in FAR.items())
        with plain(self.spark):
            self.spark.sql(
                f"UPDATE delta.`{self.path}` SET at = CASE id {times} END WHERE id IN ('a', 'b', 'c')"
            )
        assert rewrite.inexact(DeltaTable(str(self.path)))

    def replayed(self) -> None:
        """What lacked a status is swapped in."""
        asked, settings = Request(kind="replay"), self.made.settings
        planned = plan_repair(self.made.spec, settings, asked)
        planned.store(self.made.paths)
        report = stage(self.made.spec, settings, "stage", planned.repair_id, kind="replay")
        assert (report.status, report.change.merged) == ("succeeded", 1), report.problem
        swap(self.made.spec, settings.root, planned.repair_id, "swap")

    def maintained(self) -> None:
        intent = maintain(self.made.spec, self.made.settings)
        assert "INT96" in " ".join(intent.lines)
        intent.execute()

    def hold(self, path: UPath, orders: dict[str, int]) -> None:
        """By Spark, plain Python and DuckDB: each order's newest change, and its time."""
        at = {key: datetime.fromisoformat(time).replace(tzinfo=UTC) for key, time in FAR.items()}
        wanted = {
            key: (lsn, (at.get(key, NEAR) - EPOCH) // timedelta(microseconds=1))
            for key, lsn in orders.items()
        }
        sql = f"SELECT id, lsn, unix_micros(at) FROM delta.`{path}`"
        files = [unquote(file) for file in DeltaTable(str(path)).file_uris()]
        by_duckdb = f'SELECT id, lsn, epoch_us("at") FROM read_parquet({files})'
        by_python = [
            (
                row["id"],
                row["lsn"],
                (row["at"].replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1),
            )
            for file in files
            for row in pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read().to_pylist()
        ]
        for rows in (self.spark.sql(sql).collect(), by_python, duckdb.sql(by_duckdb).fetchall()):
            assert {key: (lsn, micros) for key, lsn, micros in rows} == wanted
            assert len(rows) == len(wanted)


def test_times_that_a_person_wrote_stay_through_drain_swap_and_maintain_until_they_are_published(
    spark, scene
):
    made = scene(ORDERS, partitions=1)
    create_topic(made.kafka, made.topic, 1)
    orders, newest = Orders(spark, made), {"a": 1, "b": 1, "c": 1, "d": 1}
    made.send(*(_change(key, 1, status="A") for key in newest), _change("e", 1))
    made.run("first")

    orders.edited()
    orders.hold(orders.path, newest)
    made.send(_change("d", 2, status="B"))
    made.run("second")
    log = Log.of(orders.path)
    said = [each["commitInfo"] for each in log.commit(log.newest) if "commitInfo" in each]
    assert "delta-rs" in said[0]["engineInfo"], "the driver merged it"
    orders.hold(orders.path, newest := newest | {"d": 2})

    orders.edited()
    made.change(topic=made.spec.topic.model_copy(update={"fields": OPTIONAL}))
    orders.replayed()
    orders.hold(orders.path, newest := newest | {"e": 1})

    orders.edited()
    orders.maintained()
    assert not rewrite.inexact(DeltaTable(str(orders.path)))
    made.run("nothing new")
    Listener().publish(made.paths, made.spec)

    for path in (orders.path, made.paths.published_table):
        orders.hold(path, newest)
    assert {row["unaccounted"] for row in made.ops("batches")} == {0}
