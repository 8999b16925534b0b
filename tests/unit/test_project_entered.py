"""What entering a project must not do: take a variable of a person's, another user's code, a secret;
stop for a folder that is not there; or stay behind the command.
"""

import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.errors import SettingInvalid
from spark_jobs.settings import project_file as project
from tests.harness.ran import ran
from tests.harness.refused import fails


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A project in which the test works; no variable of Sluice's, before the test and behind it."""
    for name in [name for name in os.environ if name.startswith("SLUICE_")]:
        monkeypatch.delenv(name)
    before = {name for name in os.environ if name.startswith("SLUICE_")}
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    monkeypatch.chdir(tmp_path)
    project.leave()
    for name in {name for name in os.environ if name.startswith("SLUICE_")} - before:
        del os.environ[name]


def write(folder, *lines, newline="\n"):
    (folder / project.FILE).write_bytes(newline.join(lines).encode())


def cli(*words):
    return CliRunner().invoke(app, words)


def test_a_variable_that_is_set_behind_the_entry_stays_a_persons_own(folder):
    """As a DAG file sets it before `dags()`, or a task gives it to a command that it starts."""
    write(folder, 'kafka = "a:1"', 'root = "mine"')
    project.enter()
    os.environ["SLUICE_ROOT"] = "/elsewhere"
    project.enter()
    assert os.environ["SLUICE_ROOT"] == "/elsewhere"
    assert os.environ["SLUICE_KAFKA"] == "a:1"
    assert "SLUICE_ROOT" not in project.origins()
    words = (sys.executable, "-m", "spark_jobs.cli", "settings", "--format", "csv")
    path = os.pathsep.join(each for each in sys.path if each)
    given = {**os.environ, "PYTHONPATH": path, "SLUICE_KAFKA": "b:2"}
    told = ran(*words, env=given, check=True).stdout.splitlines()
    assert "kafka,b:2,variable SLUICE_KAFKA" in told
    assert "root,/elsewhere,variable SLUICE_ROOT" in told
    project.leave()
    assert os.environ["SLUICE_ROOT"] == "/elsewhere"


def test_an_environment_that_one_command_names_is_not_the_next_ones(folder):
    write(folder, "[dev]", 'kafka = "a:1"', "[prod]", 'kafka = "b:2"')
    assert "b:2" in cli("--env", "prod", "settings").stdout
    assert "a:1" in cli("settings").stdout
    assert cli("--env", "nowhere", "settings").exit_code == SettingInvalid.exit_status
    assert "a:1" in cli("settings").stdout
    assert not [name for name in os.environ if name.startswith("SLUICE_")]


def test_the_environment_of_the_command_line_is_before_the_variables_and_a_childs_too(
    folder, monkeypatch
):
    write(folder, "[dev]", 'kafka = "a:1"', "[prod]", 'kafka = "b:2"')
    monkeypatch.setenv("SLUICE_ENV", "dev")
    assert project.enter(environment="prod").environment == "prod"
    assert os.environ["SLUICE_ENV"] == "prod"
    assert project.enter().environment == "prod", "as a child enters"


def test_a_file_that_cannot_be_read_leaves_the_process_as_it_was(folder):
    write(folder, 'kafka = "a:1"')
    project.enter()
    before = dict(os.environ)
    write(folder, 'kafka = "a:')  # an editor saves it
    with fails(SettingInvalid, "project_unreadable"):
        project.enter()
    assert dict(os.environ) == before


def test_an_error_is_told_whatever_has_become_of_the_file_since(folder):
    write(folder, 'kafka = "a:1"', 'warm = "yes"')
    project.enter()
    (folder / project.FILE).unlink()
    with pytest.raises(SettingInvalid) as raised, project.told():
        raise SettingInvalid.choice_unknown(
            name="SLUICE_WARM", value="yes", choices="on", default="on", why="SLUICE_PROJECT"
        )
    assert f"(warm in {folder}/sluice.toml)" in str(raised.value)


@pytest.mark.parametrize(
    "line",
    [
        'spark_conf = "spark.hadoop.fs.s3a.secret.key=hunter2"',
        'spark_conf = "spark.x=1 spark.hadoop.fs.s3a.access.key = hunter2"',
        'spark_conf = "spark.x.token=hunter2"',
        'kafka = "hunter2@a:1"',
        'kafka = "a:1,hunter2@b:1"',
        'root = "s3://hunter2@bucket/p"',
        'root = "s3://key:hun/ter2@bucket/p"',
        "kafka_config__eu = 'sasl.jaas.config=x password=\"hunter2\";'",
        'sasl_oauthbearer_token = "hunter2"',
        'aws_access_key_id = "hunter2"',
    ],
)
def test_a_secret_is_refused_however_it_is_spelt(folder, line):
    write(folder, line)
    with fails(SettingInvalid, "secret_in_project") as raised:
        project.enter()
    assert "hunter2" not in f"{raised.value} {raised.value.parameters}"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SLUICE_KAFKA", "hunter2@a:1"),
        ("SLUICE_ROOT", "s3://hunter2@bucket/p"),
        ("SLUICE_SPARK_CONF", "spark.x.token=hunter2"),
        ("SLUICE_SPARK_CONF", "spark.hadoop.fs.s3a.secret.key=hunter2"),
    ],
)
def test_the_settings_show_no_secret_of_a_variable(folder, monkeypatch, variable, value):
    monkeypatch.setenv("SLUICE_KAFKA", "a:1")
    monkeypatch.setenv(variable, value)
    assert "hunter2" not in cli("settings").output


@pytest.mark.parametrize(
    "root", ["/home/ana@corp.example/data", "~/data", "s3://bucket/p", "../data"]
)
def test_what_is_no_secret_is_taken(folder, root):
    write(folder, 'kafka = "token-service.example:9092"', f'root = "{root}"')
    assert project.enter().values["SLUICE_KAFKA"] == "token-service.example:9092"


def test_a_file_of_windows_is_read(folder):
    write(folder, '\ufeffkafka = "a:1"', 'log = "json"', newline="\r\n")
    assert project.enter().values == {"SLUICE_KAFKA": "a:1", "SLUICE_LOG": "json"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (r'kafka = "a:1\u0000"', "value_no_text"),
        ('root = "~nobody-of-this-name/x"', "home_unknown"),
    ],
)
def test_what_no_variable_and_no_path_can_have_is_refused(folder, line, reason):
    write(folder, line)
    with fails(SettingInvalid, reason, at=line.partition(" ")[0]):
        project.enter()


def test_where_the_working_folder_is_gone_the_one_of_the_dags_counts(folder):
    write(folder, 'kafka = "a:1"')
    (gone := folder / "gone").mkdir()
    (dags := folder / "dags").mkdir()
    os.chdir(gone)
    gone.rmdir()
    assert project.enter() is None
    assert project.enter(dags).file.parent == folder


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_a_folder_that_this_user_may_not_enter_has_no_project(folder):
    write(folder, 'kafka = "a:1"')
    (closed := folder / "closed" / "below").mkdir(parents=True)
    closed.parent.chmod(0o700)
    lines = (
        "import os, upath",
        "from spark_jobs.settings.project_file import enter",
        "os.setuid(65534)",
        "print(enter())",
    )
    path = os.pathsep.join(each for each in sys.path if each)
    given = {**os.environ, "PYTHONPATH": path}
    done = ran(sys.executable, "-c", "\n".join(lines), cwd=closed, env=given)
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_anothers_link_to_ones_own_file_is_not_taken(folder):
    (mine := folder / "mine").mkdir()
    write(mine, 'kafka = "a:1"')
    (theirs := folder / "all").mkdir()
    (theirs / project.FILE).symlink_to(mine / project.FILE)
    os.chdir(theirs)
    assert project.enter() is not None
    project.leave()
    os.lchown(theirs / project.FILE, 65534, 65534)
    assert project.enter() is None


def test_init_writes_no_secret_and_text_that_can_be_read(folder):
    done = cli("init", "shop", "--kafka", "u:hunter2@h:1")
    assert done.exit_code == SettingInvalid.exit_status
    assert "hunter2" not in done.output
    assert not (folder / "shop").exists()
    assert cli("init", "shop", "--kafka", 'a"\\b:1').exit_code == 0
    assert project.read(folder / "shop" / project.FILE, "").values["SLUICE_KAFKA"] == 'a"\\b:1'


def test_init_where_it_cannot_write_leaves_no_file(folder):
    (folder / "file").touch()
    for named in ("file", "file/shop"):
        assert cli("init", named).exit_code == SettingInvalid.exit_status
    (half := folder / "half").mkdir()
    (half / "dags").touch()
    assert cli("init", "half").exit_code == SettingInvalid.exit_status
    assert [path.name for path in half.rglob("*") if path.is_file()] == ["dags"]
    (linked := folder / "linked").mkdir()
    (linked / "README.md").symlink_to(aim := folder / "aim")
    assert cli("init", "linked").exit_code == SettingInvalid.exit_status
    assert not Path(aim).exists()
    assert not (linked / project.FILE).exists()
