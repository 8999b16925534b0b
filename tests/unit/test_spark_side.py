"""The environment in which runs start: its own, or the one that SLUICE_SPARK_ENV names."""

import json
import os
import sys
from importlib import metadata
from pathlib import Path

import pytest

from spark_jobs.errors import InstallFailed, SettingInvalid
from spark_jobs.install.environment import install
from spark_jobs.launch import submit
from spark_jobs.launch.spark_side import spark_side
from spark_jobs.registry import find as registry
from spark_jobs.registry.fingerprint.environment import code_version, version
from spark_jobs.settings.installation import MADE, REPO, Settings
from tests.harness.nobody import NOBODY, needs_two_users
from tests.harness.refused import fails


@pytest.fixture
def settings(tmp_path):
    return Settings("/root", "a:1", tmp_path, "local[2]", "3g")


def environment(folder: Path, version: str = "") -> Path:
    """What of an environment is looked at before a run starts."""
    (folder / "lib/python3.11/site-packages/spark_jobs").mkdir(parents=True)
    (folder / MADE).write_text(json.dumps({"code": version or code_version()}))
    return folder


def test_without_the_setting_a_run_starts_in_this_environment(settings):
    side = spark_side("")
    assert side == spark_side(sys.prefix)
    assert (side.python, side.search) == (Path(sys.executable), str(REPO))
    assert "SPARK_HOME" not in submit.environment(settings)


def test_a_run_starts_in_the_environment_that_the_setting_names(tmp_path, settings, monkeypatch):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    made = environment(tmp_path / "sluice")
    given = settings._replace(spark_env=str(made))
    site = made / "lib/python3.11/site-packages"
    variables = submit.environment(given)
    assert variables["PYSPARK_PYTHON"] == str(made / "bin" / "python")
    assert variables["SPARK_HOME"] == str(site / "pyspark")
    assert variables["PYTHONPATH"] == ""
    assert submit.application(str(made)) == str(site / "spark_jobs" / "main.py")


def test_pipelines_that_lie_beside_the_dags_are_found_there_too(tmp_path, monkeypatch):
    (tmp_path / "mine" / "orders").mkdir(parents=True)
    (tmp_path / "mine" / "__init__.py").touch()
    monkeypatch.setenv("SLUICE_PIPELINES", "mine")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert registry.own_path() == tmp_path
    assert spark_side(str(environment(tmp_path / "sluice"))).search == str(tmp_path)


def test_sluices_own_pipelines_are_in_both_environments(tmp_path):
    assert registry.own_path() is None
    assert spark_side(str(environment(tmp_path / "sluice"))).search == ""


def test_its_jars_are_those_of_the_environment(tmp_path, monkeypatch):
    made = environment(tmp_path / "sluice")
    monkeypatch.setenv("SLUICE_SPARK_ENV", str(made))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:9092")
    monkeypatch.delenv("SLUICE_JARS", raising=False)
    assert Settings.from_environment().jars == made / "jars" / "spark"


def test_versions_are_those_of_the_environment_in_which_runs_start(tmp_path, monkeypatch):
    """Airflow's may have no Spark at all, and plans what Spark resumes."""
    made = environment(tmp_path / "sluice")
    told = made / "lib/python3.11/site-packages/pyspark-9.8.7.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: pyspark\nVersion: 9.8.7\n")
    assert version("pyspark") == metadata.version("pyspark")
    monkeypatch.setenv("SLUICE_SPARK_ENV", str(made))
    assert version("pyspark") == "9.8.7"
    with fails(SettingInvalid, "spark_absent", folder=made, package="pytest"):
        version("pytest")


def test_a_folder_that_hides_pythons_own_modules_starts_nothing(tmp_path, monkeypatch):
    (tmp_path / "beside_a_queue").mkdir()
    (tmp_path / "beside_a_queue" / "__init__.py").touch()
    (tmp_path / "test").mkdir()  # hides nothing: it is no package
    (tmp_path / "queue.py").touch()
    monkeypatch.setenv("SLUICE_PIPELINES", "beside_a_queue")
    monkeypatch.syspath_prepend(str(tmp_path))
    with fails(SettingInvalid, "modules_hidden", name="queue"):
        spark_side("")


def test_a_package_with_the_name_of_a_module_of_pythons_own_must_be_renamed(tmp_path, monkeypatch):
    """Wherever it lies, and whatever lies beside it."""
    (tmp_path / "antigravity").mkdir()
    (tmp_path / "antigravity" / "__init__.py").touch()
    (tmp_path / "abc.py").touch()
    monkeypatch.setenv("SLUICE_PIPELINES", "antigravity")
    monkeypatch.syspath_prepend(str(tmp_path))
    with fails(SettingInvalid, "package_hides", package="antigravity"):
        spark_side("")


@pytest.fixture
def below(tmp_path, monkeypatch):
    """A folder below the one in which the package is."""
    (package := tmp_path / "project" / "found_above").mkdir(parents=True)
    (package / "__init__.py").touch()
    (inner := tmp_path / "project" / "a" / "b").mkdir(parents=True)
    monkeypatch.setenv("SLUICE_PIPELINES", "found_above")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "found_above", raising=False)
    monkeypatch.chdir(inner)
    yield package
    sys.modules.pop("found_above", None)


def test_the_package_is_found_from_a_folder_below(below):
    assert registry.folder() == below
    assert registry.own_path() == below.parent


@needs_two_users
@pytest.mark.parametrize("at", ["above", "here"])
def test_another_users_folder_is_not_taken_and_its_code_does_not_run(below, monkeypatch, at):
    (below / "__init__.py").write_text("raise SystemExit('its code ran')")
    os.chown(below, NOBODY, NOBODY)
    if at == "here":
        monkeypatch.chdir(below.parent)
    before = [*sys.path]
    with fails(SettingInvalid, "package_absent", package="found_above", here=Path.cwd()):
        registry.folder()
    assert sys.path == before


def test_what_all_users_share_has_no_package_since_others_modules_would_stand_beside_it(
    below, monkeypatch
):
    below.parent.chmod(0o1777)
    monkeypatch.chdir(below.parent)
    with fails(SettingInvalid, "package_absent", package="found_above", here=below.parent):
        registry.folder()


@needs_two_users
def test_ones_own_package_is_taken_in_a_folder_of_another_user(below, monkeypatch):
    os.chown(below.parent, NOBODY, NOBODY)
    monkeypatch.chdir(below.parent)
    assert registry.folder() == below


@pytest.mark.parametrize("given", ["..", ".x", "a/b", "nowhere_at_all"])
def test_what_is_no_package_of_pipelines_is_refused_in_words(given, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("SLUICE_PIPELINES", given)
    with fails(SettingInvalid, "package_absent", package=given):
        registry.folder()


def test_an_environment_by_a_path_that_differs_from_folder_to_folder_starts_nothing():
    with fails(SettingInvalid, "spark_env_relative", folder="sluice"):
        spark_side("sluice")


def test_an_install_that_was_cut_off_is_begun_again_and_starts_no_run(tmp_path, monkeypatch):
    made = environment(tmp_path / "sluice")
    (made / MADE).write_text("{}")
    with fails(SettingInvalid, "spark_env_unmade", folder=made):
        spark_side(str(made))
    monkeypatch.setenv("PATH", str(tmp_path))
    with fails(InstallFailed, "maven_absent"):
        install(made, None, print)


def test_an_environment_of_another_version_starts_nothing(tmp_path):
    made = environment(tmp_path / "sluice", "0.0.9")
    with fails(SettingInvalid, "spark_env_version", there="0.0.9", here=code_version()):
        spark_side(str(made))


@pytest.mark.parametrize("left", ["nothing", "no end", "no packages"])
def test_an_environment_that_was_not_made_to_its_end_starts_nothing(tmp_path, left):
    folder = tmp_path / "sluice"
    if left == "no end":
        (environment(folder) / MADE).unlink()
    if left == "no packages":
        folder.mkdir()
        (folder / MADE).write_text(json.dumps({"code": code_version()}))
    with fails(SettingInvalid, "spark_env_unmade", folder=folder):
        spark_side(str(folder))


def test_an_environment_that_is_there_is_left_alone(tmp_path, monkeypatch):
    said = []
    monkeypatch.setenv("PATH", str(tmp_path))  # or it would make one, here
    assert not install(environment(tmp_path / "sluice"), None, said.append)
    assert said == []


def test_a_folder_with_files_of_others_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("letters")
    with fails(InstallFailed, "folder_used", folder=tmp_path):
        install(tmp_path, None, print)
    assert (tmp_path / "mine").read_text() == "letters"


def test_a_machine_without_java_or_maven_is_told_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with fails(InstallFailed, "java_unfit", found="none"):
        install(tmp_path / "sluice", None, print)
    monkeypatch.setenv("PATH", str(tmp_path))
    with fails(InstallFailed, "maven_absent"):
        install(tmp_path / "sluice", None, print)
    with fails(InstallFailed, "python_unfit", python="python2"):
        install(tmp_path / "sluice", "python2", print)
    assert not (tmp_path / "sluice").exists()
