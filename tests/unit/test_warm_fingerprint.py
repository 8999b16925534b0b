"""What ends a worker before the next drain: anything that it was started with has changed."""

import os
import resource
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spark_jobs.launch.warm.fingerprint import changed, taken
from spark_jobs.launch.warm.fits import unfit_because
from spark_jobs.launch.warm.inside.life import Limits
from spark_jobs.launch.warm.place import sweep
from spark_jobs.launch.warm.start import of_the_worker
from spark_jobs.settings.installation import Settings

PARTS = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("12"))
LIMITS = Limits(drains=3, idle_seconds=60, memory_mb=100)


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    """An installation with a package of pipelines and jars of its own."""
    package = tmp_path / "code" / "deployed_warm"
    (package / "hourly").mkdir(parents=True)
    (package / "hourly" / "logic.py").write_text("RATE = 1")
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "delta.jar").write_bytes(b"")
    monkeypatch.syspath_prepend(tmp_path / "code")
    monkeypatch.setenv("SLUICE_PIPELINES", "deployed_warm")
    return Settings("root", "k:1", tmp_path / "jars", "local[2]", "2g", pipelines="deployed_warm")


def change(file: str, tmp_path: Path) -> None:
    (tmp_path / file).write_text("RATE = 2")


def change_and_back(file: str, tmp_path: Path) -> None:
    path = tmp_path / file
    before, status = path.read_bytes(), path.stat()
    path.write_text("RATE = 2")
    path.write_bytes(before)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def add(_file: str, tmp_path: Path) -> None:
    (tmp_path / "code/deployed_warm/hourly/rates.py").write_text("")


@pytest.mark.parametrize(
    ("what", "file", "part"),
    [
        (change, "code/deployed_warm/hourly/logic.py", "code of deployed_warm"),
        (change_and_back, "code/deployed_warm/hourly/logic.py", "code of deployed_warm"),
        (add, "", "code of deployed_warm"),
        (change, "jars/delta.jar", "jars"),
        (change, "jars/classes.jsa", "jars"),
    ],
)
def test_a_changed_file_of_code_or_jars_is_named(settings, tmp_path, what, file, part):
    before = taken(settings, ["spark-submit"], {})
    assert changed(before, taken(settings, ["spark-submit"], {})) == []
    what(file, tmp_path)
    assert changed(before, taken(settings, ["spark-submit"], {})) == [part]


def test_a_second_link_to_a_jar_is_no_change(settings, tmp_path):
    before = taken(settings, [], {})
    os.link(tmp_path / "jars/delta.jar", tmp_path / "link")
    assert changed(before, taken(settings, [], {})) == []


def test_what_python_compiles_is_no_code(settings, tmp_path):
    before = taken(settings, [], {})
    cache = tmp_path / "code/deployed_warm/hourly/__pycache__"
    cache.mkdir()
    (cache / "logic.pyc").write_bytes(b"")
    assert changed(before, taken(settings, [], {})) == []


def test_another_option_folder_or_variable_is_named_but_a_runs(settings, tmp_path, monkeypatch):
    before = taken(settings, ["--conf", "a=1"], {"A": "1", "B": "1", "AIRFLOW_CTX_TRY_NUMBER": "1"})
    now = {"A": "2", "C": "1", "AIRFLOW_CTX_TRY_NUMBER": "2", "SLUICE_KAFKA_CONFIG": "/tmp/once"}
    now |= {
        "SLUICE_KAFKA": "eu:1",
        "SLUICE_KAFKA__EU": "eu:2",
    }  # pipelines of several clusters share it
    monkeypatch.chdir(tmp_path)
    assert changed(before, taken(settings, ["--conf", "a=2"], now)) == [
        "Spark's options",
        "folder",
        "variable A",
        "variable B",
        "variable C",
    ]


def test_no_value_of_a_variable_is_in_it(settings):
    found = taken(settings, [], {"PASSWORD": "open sesame"})
    assert "variable PASSWORD" in found
    assert "open sesame" not in str(found)


def test_a_worker_is_started_with_no_variable_of_a_run():
    given = {"PATH": "/bin", "_AIRFLOW__STARTUP_MSG": "token", "AIRFLOW_CTX_DAG_ID": "d", "_": "x"}
    assert of_the_worker(given) == {"PATH": "/bin"}


@given(PARTS, PARTS)
def test_two_fingerprints_differ_in_nothing_only_if_they_are_equal(before, now):
    assert (changed(before, now) == []) == (before == now)
    assert changed(before, now) == changed(now, before)


@pytest.mark.parametrize(
    ("status", "drains", "memory", "why"),
    [
        (0, 1, 100, ""),
        (42, 1, 100, "exit status 42"),
        (0, 3, 100, "SLUICE_WARM_DRAINS"),
        (0, 2, 101, "SLUICE_WARM_MEMORY_MB"),
    ],
)
def test_a_worker_ends_behind_a_failed_drain_the_last_one_or_one_that_left_it_large(
    status, drains, memory, why
):
    found = LIMITS.end_because(status, drains, memory)
    assert why in found
    assert bool(why) == bool(found)


@pytest.mark.parametrize(
    ("given", "records", "why"),
    [
        ({}, 10, ""),
        ({"master": "spark://m:7077"}, 10, "spark://m:7077"),
        ({"master": "yarn"}, 10, "yarn"),
        ({"master": "local-cluster[1,1,1024]"}, 10, "local-cluster"),
        ({"root": "s3://bucket/x"}, 10, "object store"),
        ({}, 3_000_000, "3,000,000"),
    ],
)
def test_a_cluster_an_object_store_and_a_large_load_start_cold(settings, given, records, why):
    found = unfit_because(settings._replace(**given), records)
    assert why in found
    assert bool(why) == bool(found)


def test_another_mask_for_new_files_is_another_process(settings):
    before = taken(settings, [], {})
    mask = os.umask(0)
    os.umask(mask ^ 0o020)
    try:
        now = taken(settings, [], {})
        assert os.umask(mask) == mask ^ 0o020, "asking has left it as it was"
    finally:
        os.umask(mask)
    assert changed(before, now) == ["process limits"]


@pytest.mark.parametrize("limit", ["RLIMIT_NOFILE", "RLIMIT_AS"])
def test_another_limit_is_another_process(settings, limit, monkeypatch):
    before = taken(settings, [], {})
    asked = resource.getrlimit
    number = getattr(resource, limit)
    monkeypatch.setattr(
        "spark_jobs.launch.warm.fingerprint.resource.getrlimit",
        lambda each: (7, 7) if each == number else asked(each),
    )
    assert changed(before, taken(settings, [], {})) == ["process limits"]


@pytest.mark.parametrize("name", ["SPARK_CONF_DIR", "HADOOP_CONF_DIR", "YARN_CONF_DIR"])
def test_a_changed_file_of_configuration_is_named(settings, tmp_path, name):
    folder = tmp_path / "conf"
    folder.mkdir()
    before = taken(settings, [], {name: str(folder)})
    (folder / "core-site.xml").write_text("<configuration/>")
    now = taken(settings, [], {name: str(folder)})
    assert changed(before, now) == ["Spark's configuration files"]


def test_a_zip_that_spark_puts_on_the_path_is_seen(settings, tmp_path):
    home = {"SPARK_HOME": str(tmp_path / "spark")}
    (library := tmp_path / "spark/python/lib").mkdir(parents=True)
    (library / "pyspark.zip").write_bytes(b"sources")
    before = taken(settings, ["spark-submit"], home)
    (library / "pyspark.zip").write_bytes(b"sources and bytecode")
    assert changed(before, taken(settings, ["spark-submit"], home)) == ["Spark's Python"]


def test_a_log_that_no_worker_has_written_to_for_a_month_goes_and_no_other(tmp_path):
    socket, now = tmp_path / "own.sock", 1_800_000_000.0
    days = {"old.log": 31, "older.log.before": 300, "own.log": 29, "held.lock": 300}
    for name, age in days.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (now, now - age * 86_400))
    sweep(socket, now)
    assert {path.name for path in tmp_path.iterdir()} == {"own.log", "held.lock"}


@pytest.mark.parametrize("name", ["site-packages", "dist-packages"])
def test_a_package_installed_elsewhere_on_the_path_is_seen(settings, tmp_path, monkeypatch, name):
    monkeypatch.syspath_prepend(tmp_path / name)
    before = taken(settings, [], {})
    (tmp_path / name / "more-1.dist-info").mkdir(parents=True)
    assert changed(before, taken(settings, [], {})) == ["installed packages"]


def test_code_behind_a_link_is_seen_and_a_link_to_a_folder_above_has_an_end(settings, tmp_path):
    package = tmp_path / "code/deployed_warm"
    (tmp_path / "elsewhere").mkdir()
    (package / "linked").symlink_to(tmp_path / "elsewhere")
    (package / "above").symlink_to(package)
    before = taken(settings, [], {})
    (tmp_path / "elsewhere" / "rates.py").write_text("")
    assert changed(before, taken(settings, [], {})) == ["code of deployed_warm"]
