"""Settings that change results: Spark's own defaults, which no installation can move."""

from __future__ import annotations

from spark_jobs.contract.spec import State
from spark_jobs.contract.sql_settings import PINNED
from spark_jobs.launch.session import session

DIFFERENT = {"spark.sql.variable.substitute"}
LEGACY = "spark.sql.legacy.timeParserPolicy"
POLICY = "spark.sql.mapKeyDedupPolicy"


def test_a_session_has_sparks_defaults_whatever_the_installation_sets(spark) -> None:
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
