"""`sluice doctor --installation`: each thing that a run needs, or its remedy."""

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.errors import InstallFailed, JarsMissing, KafkaUnreachable, SettingInvalid
from spark_jobs.install.checkup import OPEN, checkup


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """One whose brokers nobody started."""
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    return monkeypatch


def wrong():
    return {each.what: type(each.error) for each in checkup() if each.error}


def test_of_an_installation_without_brokers_the_topic_alone_is_lacking(installation):
    assert wrong() == {"topic flights": KafkaUnreachable}
    done = CliRunner().invoke(app, ["doctor", "--installation"])
    assert done.exit_code == KafkaUnreachable.exit_status
    assert [line.split()[0] for line in done.stdout.splitlines()].count("lacks") == 1


def test_what_is_missing_does_not_hide_what_else_is_missing(installation, tmp_path):
    installation.setenv("SLUICE_JARS", str(tmp_path / "nowhere"))
    installation.setenv("JAVA_HOME", str(tmp_path))
    assert wrong() == {
        "Java": InstallFailed,
        "jars": JarsMissing,
        "topic flights": KafkaUnreachable,
    }


def test_without_settings_nothing_else_is_looked_at(installation):
    installation.setenv("SLUICE_KAFKA", "nothing")
    [found] = checkup()
    assert isinstance(found.error, SettingInvalid)


def test_a_pipeline_and_the_installation_at_once_are_no_question():
    assert CliRunner().invoke(app, ["doctor"]).exit_code == 2
    assert CliRunner().invoke(app, ["doctor", "flight_events", "--installation"]).exit_code == 2


@pytest.mark.parametrize(
    ("master", "secret", "is_open"),
    [("local[2]", False, False), ("spark://m:7077", False, True), ("spark://m:7077", True, False)],
)
def test_a_cluster_that_asks_nobody_for_a_secret_is_said_to_be_open(
    installation, tmp_path, master, secret, is_open
):
    (file := tmp_path / "secret").write_text("x")
    file.chmod(0o600)
    installation.setenv("SLUICE_MASTER", master)
    installation.setenv("SLUICE_SPARK_SECRET_FILE", str(file) if secret else "")
    found = {each.what: each for each in checkup()}
    assert (OPEN in found["Spark's master"].says) == is_open


def test_without_a_pipeline_what_was_not_looked_at_is_said(installation, tmp_path):
    (tmp_path / "no_pipelines_yet").mkdir()
    (tmp_path / "no_pipelines_yet" / "__init__.py").touch()
    installation.syspath_prepend(str(tmp_path))
    installation.setenv("SLUICE_PIPELINES", "no_pipelines_yet")
    found = {each.what: each for each in checkup()}
    assert found["root and topics"].says.startswith("not looked at")


def test_what_the_first_pipeline_will_need_is_asked_for_before_it_is_there(installation, tmp_path):
    (tmp_path / "no_pipelines_yet").mkdir()
    (tmp_path / "no_pipelines_yet" / "__init__.py").touch()
    installation.syspath_prepend(str(tmp_path))
    installation.setenv("SLUICE_PIPELINES", "no_pipelines_yet")
    installation.delenv("SLUICE_KAFKA")
    assert wrong() == {"root and topics": SettingInvalid}
