"""The published table in a store: Spark and delta-rs's SQL read it, delta-rs's Arrow reader does not, and of two publishes one commits."""

from concurrent.futures import ThreadPoolExecutor

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.storage.root.path_forms import spark_url
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.delta.delta_log import Log
from spark_jobs.table.delta.door import open_table, options
from spark_jobs.table.published.table import behind, move
from tests.harness.turns import alike
from tests.store.root import Root
from tests.unit.specs import pipeline

pytestmark = alike("a root on a store")


def test_judged_rows_are_read_by_spark_and_sql_and_two_publishes_commit_once(spark, store, bucket):
    paths = Paths(Root(store, bucket).url, pipeline())
    for number in range(3):
        deltalake.write_deltalake(
            str(paths.table),
            pa.table({"n": [number]}),
            mode="append",
            storage_options=options(paths.table),
        )
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(lambda _: move(paths, 1, refuse_dead), range(4))) == 1
    assert Log.of(paths.published_table).commits == {0}
    assert not behind(paths, 1)
    published = open_table(paths.published_table)
    sql = deltalake.QueryBuilder().register("t", published).execute("SELECT n FROM t ORDER BY n")
    rows = spark.read.format("delta").load(spark_url(paths.published_table)).collect()
    assert pa.table(sql.read_all())["n"].to_pylist() == sorted(row.n for row in rows) == [0, 1]
    with pytest.raises(FileNotFoundError):
        published.to_pyarrow_table()
