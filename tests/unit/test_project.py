"""A project: the settings of sluice.toml, found from below, beneath variables; its folder as `sluice
init` writes it.
"""

import importlib
import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.errors import SettingInvalid
from spark_jobs.settings import project_file as project
from spark_jobs.settings.installation import Settings
from spark_jobs.settings.roots import given_root
from tests.harness.ran import ran
from tests.harness.refused import fails


@pytest.fixture(autouse=True)
def outside(monkeypatch):
    """No variable of Sluice's, before the test and behind it."""
    for name in [name for name in os.environ if name.startswith("SLUICE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "path", [*sys.path])
    forget_modules()
    yield
    project.leave()
    forget_modules()


def forget_modules():
    """The last project's package."""
    importlib.invalidate_caches()
    for name in [name for name in sys.modules if name.partition(".")[0] == "pipelines"]:
        del sys.modules[name]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project in which the test works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, *lines):
    (folder / project.FILE).write_text("\n".join(lines))


def cli(*words):
    return CliRunner().invoke(app, words)


def settings(*words):
    done = cli(*words, "settings", "--format", "json")
    assert done.exit_code == 0, done.output
    return {
        each["setting"]: (each["value"], each["from"])
        for each in map(json.loads, done.stdout.splitlines())
    }


def test_a_setting_is_of_a_variable_else_of_the_environments_table_else_of_the_top(
    folder, monkeypatch
):
    write(folder, 'log = "json"', 'warm = "off"', "[dev]", 'kafka = "a:1"', 'root = "here"',
          "[prod]", 'kafka = "b:2"', 'root = "s3://bucket/x"', 'warm = "on"')  # fmt: skip
    below = folder / "pipelines" / "orders"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    found = settings()
    assert found["log"] == ("json", "sluice.toml")
    assert found["kafka"] == ("a:1", "sluice.toml [dev]")
    assert found["root"] == (str(folder / "here"), "sluice.toml [dev]")
    assert found["warm"] == ("off", "sluice.toml")
    assert found["master"] == ("local[2]", "default")
    assert settings("--env", "prod")["warm"] == ("on", "sluice.toml [prod]")
    monkeypatch.setenv("SLUICE_ENV", "prod")
    assert settings()["root"] == ("s3://bucket/x", "sluice.toml [prod]")
    monkeypatch.setenv("SLUICE_KAFKA", "c:3")
    assert settings()["kafka"] == ("c:3", "variable SLUICE_KAFKA")


def test_a_process_that_enters_has_the_settings_and_none_is_left_behind_it(folder):
    write(folder, "[dev]", 'kafka = "a:1"', 'root = "r"', 'root__eu = "eu"', "warm_drains = 7")
    before = dict(os.environ)
    project.enter()
    made = Settings.from_environment()
    assert (made.kafka, made.root, made.warm_drains) == ("a:1", str(folder / "r"), "7")
    assert Settings.from_environment(root="eu").root == str(folder / "eu")
    assert str(folder) in sys.path, "the pipelines' package is there"
    write(folder, "[dev]", 'kafka = "b:2"')
    project.enter()
    assert (os.environ["SLUICE_KAFKA"], "SLUICE_ROOT" in os.environ) == ("b:2", False)
    project.leave()
    assert dict(os.environ) == before


def test_a_child_process_works_in_the_same_project_wherever_it_begins(folder, tmp_path_factory):
    write(folder, "[dev]", 'kafka = "a:1"', "[prod]", 'kafka = "b:2"')
    os.environ["SLUICE_ENV"] = "prod"
    project.enter()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    words = (sys.executable, "-m", "spark_jobs.cli", "settings", "--format", "json")
    path = os.pathsep.join(each for each in sys.path if each)
    try:
        done = ran(*words, cwd=elsewhere, env={**os.environ, "PYTHONPATH": path}, check=True)
    finally:
        del os.environ["SLUICE_ENV"]
    [kafka] = [line for line in done.stdout.splitlines() if '"kafka"' in line]
    assert json.loads(kafka) == {"setting": "kafka", "value": "b:2", "from": "sluice.toml [prod]"}


@pytest.mark.parametrize(
    ("lines", "reason", "told"),
    [
        (['rooot = "x"'], "key_unknown", {"at": "rooot", "near": "Did you mean root?"}),
        (["[prod]", 'SLUICE_KAFKA = "a:1"'], "key_unknown", {"at": "[prod] SLUICE_KAFKA"}),
        (['next = "on"'], "key_unknown", {"at": "next"}),
        (["[dev]", "kafka = 9092"], "value_no_text", {"at": "[dev] kafka", "given": "9092"}),
        (["warm = true"], "value_no_text", {"given": "true", "right": "auto"}),
        (["[dev]", 'kafka = ["a:1"]'], "value_no_text", {"at": "[dev] kafka"}),
        (["[dev.kafka]", 'servers = "a:1"'], "value_no_text", {"at": "[dev] kafka"}),
        (["[dev]", 'sasl_password = "hunter2"'], "secret_in_project", {"at": "[dev] sasl_password"}),
        (['"sasl.password" = "hunter2"'], "secret_in_project", {"at": "sasl.password"}),
        (['kafka = "u:hunter2@a:1"'], "secret_in_project", {"at": "kafka"}),
        (["[prod]", 'root = "s3://key:hunter2@b/p"'], "secret_in_project", {"at": "[prod] root"}),
        (['spark_conf = "spark.x.password=hunter2"'], "secret_in_project", {"at": "spark_conf"}),
        (["a = "], "project_unreadable", {}),
        (["[prod]", 'kafka = "a:1"'], "environment_unknown", {"environment": "dev"}),
    ],
)  # fmt: skip
def test_what_cannot_be_obeyed_is_refused_by_file_and_key_and_no_secret_is_shown(
    folder, lines, reason, told
):
    write(folder, *lines)
    with fails(SettingInvalid, reason, file=str(folder / project.FILE), **told) as raised:
        project.enter()
    assert "hunter2" not in f"{raised.value} {raised.value.parameters}"


@pytest.mark.parametrize(
    ("line", "reason", "read"),
    [
        ('warm = "yes"', "choice_unknown", Settings.from_environment),
        ('kafka = "no port"', "server_invalid", Settings.from_environment),
        ('root = "s3://b//p"', "part_odd", given_root),
    ],
)
def test_a_wrong_value_is_told_with_the_place_that_has_it(folder, line, reason, read):
    write(folder, "[dev]", *([] if "kafka" in line else ['kafka = "a:1"']), line)
    project.enter()
    with fails(SettingInvalid, reason) as raised:
        read()
    key = line.partition(" ")[0]
    assert f"({key} in {folder}/sluice.toml [dev])" in str(raised.value)


def test_an_environment_that_a_person_names_must_be_there(folder):
    assert cli("--env", "prod", "settings").exit_code == 2, "there is no project"
    write(folder, 'kafka = "a:1"')
    done = cli("--env", "prod", "settings")
    assert done.exit_code == SettingInvalid.exit_status
    assert "no environment 'prod'" in " ".join(done.stderr.split())


def test_a_secret_of_a_variable_is_not_shown(folder, monkeypatch):
    monkeypatch.setenv("SLUICE_KAFKA", "u:hunter2@a:1")
    done = cli("settings")
    assert (done.exit_code, "hunter2" in done.output) == (SettingInvalid.exit_status, False)
    assert "hidden" in done.stdout


def test_another_users_file_and_one_in_a_folder_of_all_are_not_taken(folder, monkeypatch):
    write(folder, 'kafka = "a:1"')
    (below := folder / "below").mkdir()
    monkeypatch.chdir(below)
    assert project.enter() is not None
    project.leave()
    folder.chmod(0o1777)
    assert project.enter() is None
    folder.chmod(0o700)
    monkeypatch.setattr(os, "getuid", lambda: 1)
    if os.geteuid() == 0:
        os.chown(below, 1, 1)
        assert project.enter() is None


def test_the_brokers_of_the_declaration_are_those_that_hold(folder):
    (folder / "kafka.properties").write_text("bootstrap.servers=b:2\n")
    write(folder, "[dev]", 'kafka = "a:1"', 'kafka_config = "kafka.properties"')
    assert settings()["kafka"] == ("b:2", "kafka_config")


def test_init_writes_a_project_whose_pipelines_are_its_own_and_overwrites_nothing(folder):
    done = cli("init", "shop", "--kafka", "k:9092")
    assert done.exit_code == 0, done.output
    shop = folder / "shop"
    wrote = {str(path.relative_to(shop)) for path in shop.rglob("*") if path.is_file()}
    assert wrote == {
        "sluice.toml", ".gitignore", "README.md", "conftest.py", "dags/sluice.py",
        "pipelines/__init__.py", "tests/test_pipelines.py",
    }  # fmt: skip
    assert len((shop / "README.md").read_text().splitlines()) <= 12
    (shop / "sluice.toml").write_text("mine = 1")
    (shop / "README.md").unlink()
    again = cli("init", "shop")
    assert again.exit_code == SettingInvalid.exit_status
    assert (shop / "sluice.toml").read_text() == "mine = 1"
    assert not (shop / "README.md").exists(), "all or none"


RECORDS = [
    {"orderId": f"o-{n}", "placedAt": f"2026-03-01T12:{n % 60:02}:00Z", "n": n} for n in range(80)
]


def test_in_a_project_new_needs_a_topics_name_alone_and_writes_into_its_package(
    folder, monkeypatch
):
    assert cli("init", ".").exit_code == 0
    (folder / "x.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))
    done = cli("new", "shop.orders", "--file", "x.jsonl")
    assert done.exit_code == 0, done.output
    assert "export" not in done.stdout
    text = (folder / "pipelines" / "shop_orders" / "spec.py").read_text()
    assert 'name="shop.orders"' in text
    assert 'name="shop_orders"' in text


def test_the_tab_key_completes_the_pipelines_of_the_project(folder, monkeypatch):
    assert cli("init", ".").exit_code == 0
    (orders := folder / "pipelines" / "orders").mkdir()
    (orders / "spec.py").touch()
    for name, value in (
        ("_SLUICE_COMPLETE", "complete_bash"),
        ("COMP_WORDS", "sluice run "),
        ("COMP_CWORD", "2"),
    ):
        monkeypatch.setenv(name, value)
    assert CliRunner().invoke(app, [], prog_name="sluice").stdout.split() == ["orders"]


def test_its_own_test_and_every_spec_pass_under_pytest_in_its_folder(folder):
    assert cli("init", ".").exit_code == 0
    (folder / "x.jsonl").write_text("\n".join(map(json.dumps, RECORDS)))
    assert cli("new", "orders", "--file", "x.jsonl").exit_code == 0
    path = os.pathsep.join(each for each in sys.path if each and Path(each) != folder)
    words = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    done = ran(*words, cwd=folder, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    spec = folder / "pipelines" / "orders" / "spec.py"
    spec.write_text(spec.read_text().replace('"timestamp"', '"tiimestamp"'))
    done = ran(*words, cwd=folder, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 1
    assert "SPEC_INVALID" in done.stdout
