"""A real Hive metastore has the published tables, as Hive's own client and Spark read them there."""

import subprocess
import sys
from typing import Any

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.errors import CatalogRefused
from spark_jobs.settings.installation import Settings
from spark_jobs.storage.root.paths import Paths
from spark_jobs.table.metastore import register
from tests.harness.long_form import long_form
from tests.harness.metastore import metastore
from tests.harness.refused import fails
from tests.unit.test_catalog import SPEC

pytestmark = long_form
COLUMNS = pa.schema([("shop", pa.string()), ("sales", pa.int64()), ("soldAt", pa.timestamp("us"))])
READ = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").enableHiveSupport()
for name, value in {
    "spark.jars": sys.argv[2],
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.hadoop.hive.metastore.uris": sys.argv[1],
    "spark.ui.enabled": "false",
}.items():
    builder = builder.config(name, value)
print("found", builder.getOrCreate().sql("SELECT shop, sales FROM sales_hourly").collect())
"""
"""What a person's Spark does, which knows the metastore alone."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with metastore(tmp_path_factory.mktemp("metastore")) as port:
        yield port


@pytest.fixture
def hive(spark, server) -> Any:
    """Hive's own client of it."""
    jvm = spark._jvm  # noqa: SLF001 - Hive's client has no Python form
    conf = jvm.org.apache.hadoop.hive.conf.HiveConf()
    conf.set("hive.metastore.uris", f"thrift://127.0.0.1:{server}")
    client = jvm.org.apache.hadoop.hive.metastore.HiveMetaStoreClient(conf)
    yield client
    client.dropTable("default", "sales_hourly", False, True)
    client.close()


def published(folder) -> Paths:
    paths = Paths(str(folder), SPEC)
    deltalake.write_deltalake(
        str(paths.published_table),
        pa.table({"shop": ["1"], "sales": [7], "soldAt": [None]}, COLUMNS),
    )
    return paths


def test_hives_own_client_finds_the_table_where_it_is_also_after_it_has_changed(
    hive, server, tmp_path, monkeypatch
):
    monkeypatch.setenv("SLUICE_CATALOG", f"thrift://127.0.0.1:{server}/default")
    paths = published(tmp_path / "a")
    first, again = register(paths, SPEC), register(paths, SPEC)
    assert (first, again) == tuple(
        f"file:{paths.published_table} {done} as default.sales_hourly"
        for done in ("registered", "is registered")
    )
    found = hive.getTable("default", "sales_hourly")
    assert (found.getOwner(), found.getTableType()) == ("tills", "EXTERNAL_TABLE")
    assert found.getSd().getLocation() == f"file:{paths.published_table}"
    assert dict(found.getParameters())["comment"] == "Sales."
    columns = [
        (each.getName(), each.getType(), each.getComment()) for each in found.getSd().getCols()
    ]
    assert columns == [
        ("shop", "string", "its number"),
        ("sales", "bigint", "count(*)"),
        ("soldat", "timestamp", None),
    ]

    found.getParameters().put("team", "tills")  # a person's
    hive.alter_table("default", "sales_hourly", found)
    moved = Paths(str((tmp_path / "a").rename(tmp_path / "b")), SPEC)
    more = deltalake.Field("added", "double")
    deltalake.DeltaTable(str(moved.published_table)).alter.add_columns([more])
    register(moved, SPEC)
    found = hive.getTable("default", "sales_hourly")
    assert found.getSd().getLocation() == f"file:{moved.published_table}"
    assert dict(found.getSd().getSerdeInfo().getParameters())["path"] == found.getSd().getLocation()
    assert [each.getType() for each in found.getSd().getCols()] == [
        "string", "bigint", "timestamp", "double",
    ]  # fmt: skip
    assert dict(found.getParameters())["team"] == "tills"


def test_a_table_of_others_and_a_database_that_is_not_there_are_refused(
    hive, server, tmp_path, monkeypatch
):
    paths = published(tmp_path)
    monkeypatch.setenv("SLUICE_CATALOG", f"thrift://127.0.0.1:{server}/nowhere")
    with fails(CatalogRefused, "said_no", database="nowhere"):
        register(paths, SPEC)
    monkeypatch.setenv("SLUICE_CATALOG", f"thrift://127.0.0.1:{server}/default")
    register(paths, SPEC)
    found = hive.getTable("default", "sales_hourly")
    found.getParameters().remove("sluice.table")
    hive.alter_table("default", "sales_hourly", found)
    with fails(CatalogRefused, "foreign_entry", table="default.sales_hourly"):
        register(paths, SPEC)
    with fails(CatalogRefused, "foreign_entry", table="default.sales_hourly"):
        register(published(tmp_path / "another"), SPEC)


@pytest.mark.usefixtures("hive")
def test_spark_reads_by_the_catalog_what_is_published(server, tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_CATALOG", f"thrift://127.0.0.1:{server}/default")
    register(published(tmp_path), SPEC)
    jars = ",".join(map(str, Settings.from_environment().jars.glob("*.jar")))
    words = [sys.executable, "-c", READ, f"thrift://127.0.0.1:{server}", jars]
    done = subprocess.run(
        words, check=False, cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert "found [Row(shop='1', sales=7)]" in done.stdout, done.stderr
