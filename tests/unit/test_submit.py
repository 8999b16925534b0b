"""How a run is submitted."""

import os
import sys
from pathlib import Path

import pytest

from spark_jobs.errors import JarsMissing
from spark_jobs.launch import java_options, submit
from spark_jobs.messages.job import Drain, Explain, ShowState, Stage, StateQuery, read
from spark_jobs.settings.installation import REPO, Settings
from tests.harness.ran import ran
from tests.harness.refused import fails

JOB = Drain(pipeline="flight_events", report="/reports/1.json", run_id="run-1")


@pytest.fixture
def settings(tmp_path) -> Settings:
    for name in (
        "delta-spark_4.2_2.13-4.4.0.jar",
        "spark-sql-kafka-0-10_2.13-4.2.0.jar",
        "notes.txt",
    ):
        (tmp_path / name).touch()
    return Settings("/root", "a:1", tmp_path, "local[2]", "3g")


@pytest.mark.parametrize("content", [None, [], ["notes.txt"], ["commons-pool2.jar"]], ids=str)
def test_jars_that_are_not_there_are_missed_before_a_jvm_starts(tmp_path, content):
    jars = tmp_path / "jars"
    for name in content or []:
        jars.mkdir(exist_ok=True)
        (jars / name).touch()
    with fails(JarsMissing, "kafka_jars_absent", jars=jars):
        submit.configuration(Settings("/root", "a:1", jars, "local[2]", "3g"))


def test_the_jars_and_nothing_else_are_on_the_class_path(settings):
    path = submit.configuration(settings)["spark.driver.extraClassPath"].split(":")
    assert [Path(jar).name for jar in path] == [
        "delta-spark_4.2_2.13-4.4.0.jar",
        "spark-sql-kafka-0-10_2.13-4.2.0.jar",
    ]


def test_workers_use_this_python_and_find_sluice(settings, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    environment = submit.environment(settings)
    assert environment["PYSPARK_PYTHON"] == sys.executable
    assert environment["PYTHONPATH"].split(os.pathsep) == [str(REPO), "/elsewhere"]
    assert environment.items() >= settings.environment().items()


def test_the_command_is_one_that_the_application_understands(settings):
    command = submit.command(settings, JOB)
    at = command.index(submit.application())
    assert Path(submit.application()).is_file()
    assert command[1:3] == ["--master", "local[2]"]
    assert read(command[at + 1 :]) == JOB


def test_the_command_of_a_repair_is_one_that_the_application_understands(settings):
    job = Stage(
        pipeline="flight_events",
        kind="repair",
        repair_id="r1",
        report="/reports/1.json",
        run_id="run-1",
    )
    command = submit.command(settings, job)
    assert read(command[command.index(submit.application()) + 1 :]) == job


def test_where_data_lies_and_who_may_read_it_is_in_the_environment_not_in_words(settings):
    """Whoever may list processes reads their command lines; the environment is the owner's."""
    secret = settings._replace(root="gs://hunter2/root", kafka="hunter2.example:9092")
    assert "hunter2" not in " ".join(submit.command(secret, JOB))
    assert sum("hunter2" in value for value in submit.environment(secret).values()) == 2


def test_sparks_log_configuration_is_where_the_options_point(settings):
    options = submit.configuration(settings)["spark.driver.extraJavaOptions"].split()
    [log4j] = [
        option for option in options if option.startswith("-Dlog4j2.configurationFile=file:")
    ]
    assert Path(log4j.partition("file:")[2]).is_file()


def test_local_mode_ships_nothing_and_is_told_nothing_of_a_cluster(settings):
    for name in submit.configuration(settings):
        assert not name.startswith(
            ("spark.archives", "spark.jars", "spark.executorEnv", "spark.pyspark", "spark.locality")
        )


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[2,3]"])
def test_a_local_master_listens_to_nobody_else_whatever_a_cluster_would_need(settings, master):
    wide = settings._replace(spark_conf="spark.driver.host=here spark.driver.bindAddress=0.0.0.0")
    local = submit.configuration(wide._replace(master=master))
    assert local.items() >= submit.ALONE.items()
    there = submit.configuration(wide._replace(master="spark://m:7077"))
    assert there["spark.driver.bindAddress"] == "0.0.0.0"


def test_executors_get_the_jars_or_find_them_where_the_workers_have_them(settings):
    cluster = settings._replace(master="spark://m:7077")
    shipped = submit.configuration(cluster)
    assert [Path(jar).parent for jar in shipped["spark.jars"].split(",")] == [settings.jars] * 2
    assert "spark.executor.extraClassPath" not in shipped
    there = submit.configuration(cluster._replace(executor_jars="/opt/jars"))
    assert "spark.jars" not in there
    assert (
        there["spark.executor.extraClassPath"].split(":")[0]
        == "/opt/jars/delta-spark_4.2_2.13-4.4.0.jar"
    )
    assert (
        "-XX:SharedArchiveFile=/opt/jars/classes.jsa"
        in there["spark.executor.extraJavaOptions"].split()
    )


def test_the_driver_keeps_its_own_python(settings):
    options = submit.configuration(settings._replace(master="yarn", executor_python="/opt/python"))
    assert (options["spark.pyspark.driver.python"], options["spark.pyspark.python"]) == (
        sys.executable,
        "/opt/python",
    )


def test_commands_that_only_look_need_no_cluster(settings):
    cluster = settings._replace(master="spark://m:7077")
    for command in (
        submit.command(cluster, Explain(pipeline="flight_events")),
        submit.command(cluster, ShowState(pipeline="flight_events", query=StateQuery())),
    ):
        assert command[1:3] == ["--master", "local[2]"]


def test_the_secret_of_the_cluster_is_on_no_command_line(settings, tmp_path):
    (file := tmp_path / "secret").write_text("hunter2")
    secured = settings._replace(master="spark://m:7077", spark_secret_file=str(file))
    told = submit.command(secured, JOB)
    assert "hunter2" not in " ".join(told)


def test_a_module_of_the_pipelines_own_is_not_taken_for_the_one_beside_main(settings, tmp_path):
    """A script's folder stands first on its path, and main.py's has storage, log and more."""
    for folder in ("beside", "own"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "storage.py").touch()
    (script := tmp_path / "beside" / "main.py").write_text(
        "import storage; print(storage.__file__)"
    )
    env = {**os.environ, **submit.environment(settings)} | {"PYTHONPATH": str(tmp_path / "own")}
    done = ran(sys.executable, script, env=env, check=True)
    assert done.stdout.strip() == str(tmp_path / "own" / "storage.py")


@pytest.mark.parametrize(
    ("records", "small"), [(0, False), (1, True), (100_000, True), (100_001, False)]
)
def test_a_run_that_is_known_to_read_few_records_has_a_small_heap(settings, records, small):
    options = submit.configuration(settings, records)["spark.driver.extraJavaOptions"].split()
    assert set(java_options.SMALL_HEAP).issubset(options) == small
