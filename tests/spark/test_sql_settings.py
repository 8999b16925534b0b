"""Settings that change results: Spark's own defaults, which no installation can move."""

import os
from collections.abc import Iterator

import pyarrow as pa

from spark_jobs.errors import SettingInvalid
from spark_jobs.launch.few_records import OF_FEW_RECORDS, for_records
from spark_jobs.launch.java_options import FEW_RECORDS
from spark_jobs.launch.session import session
from spark_jobs.spec import State
from spark_jobs.values import pinned as language
from spark_jobs.values.pinned import PINNED
from tests.harness.refused import fails

DIFFERENT = {"spark.sql.variable.substitute"}
LEGACY = "spark.sql.legacy.timeParserPolicy"
POLICY = "spark.sql.mapKeyDedupPolicy"


def test_a_session_has_sparks_defaults_whatever_the_installation_sets(spark):
    defaults = {}
    for name in PINNED:
        assert spark.conf.isModifiable(name), name
        before = spark.conf.get(name)
        spark.conf.unset(name)
        defaults[name] = spark.conf.get(name)
        spark.conf.set(name, before)
    assert {name for name, value in PINNED.items() if defaults[name] != value} == DIFFERENT

    installed = spark.sparkContext._conf  # noqa: SLF001 - what spark-defaults.conf gives
    usual = spark.conf.get(LEGACY)
    for name, value in ((LEGACY, "LEGACY"), (POLICY, "LAST_WIN")):
        installed.set(name, value)
        spark.conf.set(name, value)
    try:
        made = session("a test", State())
        assert (made.conf.get(LEGACY), made.conf.get(POLICY)) == (usual, "EXCEPTION")
        assert made.sql("SELECT '${spark.sql.session.timeZone}'").first()[0].startswith("$")
    finally:
        for name in (LEGACY, POLICY):
            installed._jconf.remove(name)  # noqa: SLF001 - Python's has no remove


def test_queries_of_few_records_are_not_compiled_and_planned_once_unless_told_otherwise(spark):
    installed, name = spark.sparkContext._conf, "spark.sql.adaptive.enabled"  # noqa: SLF001
    given = {each: installed.get(each) for each in OF_FEW_RECORDS}
    usual = {each: spark.conf.get(each) for each in OF_FEW_RECORDS}
    try:
        for each in OF_FEW_RECORDS:
            installed._jconf.remove(each)  # noqa: SLF001 - Python's has no remove
            spark.conf.unset(each)
        default = {each: spark.conf.get(each) for each in OF_FEW_RECORDS}
        with for_records(spark, FEW_RECORDS + 1):
            assert {each: spark.conf.get(each) for each in OF_FEW_RECORDS} == default
        with for_records(spark, FEW_RECORDS):
            assert {each: spark.conf.get(each) for each in OF_FEW_RECORDS} == OF_FEW_RECORDS
        assert {each: spark.conf.get(each) for each in OF_FEW_RECORDS} == default
        installed.set(name, "true")
        with for_records(spark, 1):
            assert spark.conf.get(name) == "true"
    finally:
        for each, value in given.items():
            if value is None:
                installed._jconf.remove(each)  # noqa: SLF001 - as above
            else:
                installed.set(each, value)
            spark.conf.set(each, usual[each])


def test_hadoops_defaults_of_yarn_and_mapreduce_are_left_out_and_nothing_that_is_set(spark):
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - it has no Python form
    spark._jvm.org.apache.hadoop.mapreduce.util.ConfigUtil.loadResources()  # noqa: SLF001
    hadoop.reloadConfiguration()
    assert hadoop.size() > 1000
    ours = {"yarn.resourcemanager.hostname": "ours", "mapreduce.job.queuename": "default"}
    for name, value in ours.items():
        hadoop.set(name, value)
    try:
        session("a test", State())
        assert hadoop.size() < 600
        assert {name: hadoop.get(name) for name in ours} == ours
        assert hadoop.get("yarn.nodemanager.hostname") is None
        assert hadoop.get("mapreduce.map.memory.mb") is None
        assert hadoop.get("mapreduce.fileoutputcommitter.algorithm.version") is not None
        assert hadoop.get("fs.AbstractFileSystem.hdfs.impl") is not None
        copied = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        assert copied.get("yarn.nodemanager.hostname") is None
    finally:
        for name in ours:
            hadoop.unset(name)


def test_a_jvm_of_another_language_runs_nothing(spark, monkeypatch):
    """_JAVA_OPTIONS alone gets past the options of its command line."""
    monkeypatch.setitem(language.JAVA, "user.language", "tr")
    with fails(SettingInvalid, "locale_overridden", name="user.language", found="en", value="tr"):
        session("in turkish", State())


def test_python_workers_have_the_language_encoding_and_time_zone_of_the_run(spark):
    def found(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            values = [str(os.environ.get(name)) for name in language.VARIABLES]
            yield pa.RecordBatch.from_pydict({"value": values})

    rows = spark.range(0, 1, 1, 1).mapInArrow(found, "value string").collect()
    assert [row.value for row in rows] == [*language.VARIABLES.values()]
