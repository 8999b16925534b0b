"""`sluice doctor --installation`: each thing that a run needs, or its remedy."""

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.errors import InstallFailed, JarsMissing, KafkaUnreachable, SettingInvalid
from spark_jobs.install.checkup import checkup


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
