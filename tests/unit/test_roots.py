"""Several roots of one installation: a pipeline names its own, and nobody who has it gets another."""

import json
import re
from pathlib import Path

import deltalake
import pytest
from typer.testing import CliRunner

from spark_jobs.checkpoint.identity import Identity
from spark_jobs.cli import app
from spark_jobs.errors import CheckpointForeign, KafkaUnreachable, SettingInvalid, SpecInvalid
from spark_jobs.install.checkup import checkup
from spark_jobs.proof import start
from spark_jobs.registry import find as registry
from spark_jobs.registry.archive_spec import archive_spec
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.registry.root_by_name import by_root, refuse_elsewhere, root_by_name
from spark_jobs.runs.run_record import append_row
from spark_jobs.runs.unbegun import recorded
from spark_jobs.settings import roots as declaration
from spark_jobs.settings.installation import REPO, Settings
from spark_jobs.settings.roots import every_root, root_names, root_of
from spark_jobs.spec import Archive
from spark_jobs.storage.root.paths import Paths
from tests.harness import roots
from tests.harness.refused import fails
from tests.unit.specs import deployed, pipeline, topic

EU = pipeline(name="eu_sales", root="eu")
SPEC = "from tests.unit.specs import *\nfrom spark_jobs.spec import Archive\n\nSPEC = pipeline(name={!r}, {})\n"
MAY_ASK_WITHOUT_A_PIPELINE = {
    "spark_jobs/main.py",  # in a process that a run has started: the run's
    "spark_jobs/launch/warm/inside/worker.py",  # the same, of the run that started the worker
    "spark_jobs/cli/sample.py",  # no pipeline yet, or no root at all
    "spark_jobs/cli/specs.py",
    "spark_jobs/cli/bad_day.py",  # a pipeline's, without Kafka
    "spark_jobs/cli/install.py",  # says all settings
    "spark_jobs/install/checkup.py",
    "spark_jobs/proof/start.py",
    "spark_jobs/settings/installation.py",
    "plugins/sluice_airflow/connections/kafka.py",
}


@pytest.fixture(autouse=True)
def declared(monkeypatch, tmp_path):
    for name, folder in (("SLUICE_ROOT", "own"), ("SLUICE_ROOT__EU", "eu")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")


def several(tmp_path, monkeypatch, **specs: str):
    """Pipelines of one package, by name: what each spec has besides."""
    for number, (name, more) in enumerate(specs.items()):
        if number == 0:
            deployed(tmp_path, monkeypatch, SPEC.format(name, more), name)
        else:
            (at := registry.folder() / name).mkdir()
            (at / "spec.py").write_text(SPEC.format(name, more))


def begun(root: Path, name: str):
    """A drain has begun a checkpoint of it there."""
    paths = Paths(str(root), pipeline(name=name))
    paths.ensure_writable()
    Identity(generation="g", topic_id="t", fingerprint={}).write(paths.identity)


def test_a_pipelines_settings_have_the_root_that_it_names(tmp_path):
    both = [pipeline(), EU]
    assert [Settings.of(each).root for each in both] == [str(tmp_path / n) for n in ("own", "eu")]
    assert [root_of(each) for each in both] == every_root()
    assert root_names() == ["", "eu"]


def test_a_process_that_a_run_starts_has_that_root_as_its_own(monkeypatch):
    given = Settings.of(EU)
    for name, value in given.environment().items():
        monkeypatch.setenv(name, value)
    assert Settings.from_environment() == given


def test_a_root_of_its_own_needs_no_other(monkeypatch, tmp_path):
    monkeypatch.setenv("SLUICE_ROOT", "s3://")
    assert Settings.of(EU).root == str(tmp_path / "eu")


def test_a_root_of_which_nothing_is_declared_is_refused_by_its_name():
    told = {"root": "us", "variable": "SLUICE_ROOT__US", "connection": "sluice_root_us"}
    for asked in (root_of, Settings.of):
        with fails(SettingInvalid, "root_unknown", **told):
            asked(pipeline(root="us"))


@pytest.mark.parametrize("name", ["EU", "e-u", "e__u", "_eu", "1eu"])
def test_a_name_that_no_variable_can_have_is_refused(name):
    with pytest.raises(SpecInvalid):
        pipeline(root=name)


def test_what_is_wrong_with_a_named_root_is_told_by_its_variable(monkeypatch):
    monkeypatch.setenv("SLUICE_ROOT__EU", "s3://key:secret@bucket")
    with fails(SettingInvalid, "keys_in_root", name="SLUICE_ROOT__EU"):
        root_of(EU)


def test_state_does_not_depend_on_what_a_root_is_called():
    one, two = (pipeline(root=name) for name in ("", "eu"))
    assert json.dumps(fingerprint(one, "4.2.0")) == json.dumps(fingerprint(two, "4.2.0"))


def test_next_and_an_archive_are_in_the_pipelines_root(tmp_path, monkeypatch):
    kept = topic(archive=Archive())
    assert archive_spec(kept, kept.archive, "eu").root == "eu"
    text = SPEC.format("one", "root='eu'") + "NEXT = pipeline(name='one', state={'version': 2})\n"
    deployed(tmp_path, monkeypatch, text, "one")
    with fails(SpecInvalid, "next_field_differs", field="root", given="", right="eu"):
        registry.load_next("one")


def test_one_archive_in_two_roots_is_refused(tmp_path, monkeypatch):
    archived = "topic=topic(archive=Archive())"
    several(tmp_path, monkeypatch, one=archived, two=f"{archived}, root='eu'")
    with fails(SpecInvalid, "topic_declared_twice"):
        registry.load("archive__sales")


def test_a_pipeline_whose_spec_does_not_load_is_where_its_checkpoint_is(tmp_path, monkeypatch):
    several(tmp_path, monkeypatch, mine="root='eu'", torn="1 / 0", new="1 / 0")
    begun(tmp_path / "eu", "torn")
    assert [root_by_name(name) for name in ("mine", "torn", "new")] == [
        str(tmp_path / "eu"), str(tmp_path / "eu"), str(tmp_path / "own"),
    ]  # fmt: skip
    assert by_root(["mine", "new", "torn"]) == {"eu": ["mine", "torn"], "": ["new"]}


def test_the_row_of_a_refused_run_is_in_its_own_root(tmp_path, monkeypatch):
    several(tmp_path, monkeypatch, mine="root='eu'")
    with pytest.raises(KeyError), recorded("mine", "refused"):
        raise KeyError
    assert [row["run_id"] for row in roots.told(tmp_path / "eu", "runs", "run_id")] == ["refused"]
    assert not (tmp_path / "own").exists()


def test_another_root_than_before_is_refused_by_both(tmp_path):
    here, there = tmp_path / "eu", tmp_path / "own"
    begun(there, EU.name)
    told = {"there": str(there), "called": "", "pipeline": EU.name}
    with fails(CheckpointForeign, "in_other_root", **told):
        refuse_elsewhere(EU, Paths(str(here), EU))
    begun(here, EU.name)  # it was copied
    refuse_elsewhere(EU, Paths(str(here), EU))


def test_a_new_pipeline_and_a_new_name_of_the_same_folder_are_not_refused(tmp_path, monkeypatch):
    refuse_elsewhere(EU, Paths(str(tmp_path / "eu"), EU))
    monkeypatch.setenv("SLUICE_ROOT__US", str(tmp_path / "eu"))
    begun(tmp_path / "eu", EU.name)
    us = EU.model_copy(update={"root": "us"})
    refuse_elsewhere(us, Paths(str(tmp_path / "eu"), us))


def test_a_root_that_cannot_be_read_refuses_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("SLUICE_ROOT__US", "s3://key:secret@bucket")
    refuse_elsewhere(EU, Paths(str(tmp_path / "eu"), EU))


def test_nobody_who_has_a_pipeline_asks_for_the_installations_root():
    without = re.compile(r"Settings\.from_environment\(|\bcls\.from_environment\(|given_root\(\)")
    asks = {
        str(path.relative_to(REPO))
        for top in ("spark_jobs", "plugins", "dags")
        for path in (REPO / top).rglob("*.py")
        if without.search(path.read_text())
    }
    assert asks - {"spark_jobs/settings/roots.py"} == MAY_ASK_WITHOUT_A_PIPELINE


def test_show_has_each_root_and_one_pipelines_alone(tmp_path, monkeypatch):
    several(tmp_path, monkeypatch, mine="root='eu'", other="about='x'")
    for root, name in (("eu", "mine"), ("own", "other")):
        append_row(roots.report(name, f"run-of-{name}"), str(tmp_path / root))

    def show(*words: str) -> list[str]:
        done = CliRunner().invoke(app, ["show", "runs", *words, "--format", "json"])
        assert done.exit_code == 0, done.output
        return [json.loads(line)["run_id"] for line in done.stdout.splitlines()]

    assert show() == ["run-of-other", "run-of-mine"]
    assert (show("mine"), show("other")) == (["run-of-mine"], ["run-of-other"])
    tables = CliRunner().invoke(app, ["show", "runs"]).stdout
    assert [str(root) in tables for root in every_root()] == [True, True]


@pytest.fixture
def named_alone(monkeypatch, tmp_path):
    """An installation beside no clone, whose roots and clusters have names, and none is its own."""
    monkeypatch.setattr(declaration, "DEFAULT_ROOT", None)
    for name in ("SLUICE_ROOT", "SLUICE_KAFKA"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("SLUICE_KAFKA__EU", "127.0.0.1:1")
    several(tmp_path, monkeypatch, mine="root='eu', topic=topic(cluster='eu')")


@pytest.mark.usefixtures("named_alone")
def test_where_all_have_names_no_command_asks_for_one_without(tmp_path):
    append_row(roots.report("mine", "run"), str(tmp_path / "eu"))
    assert "run" in CliRunner().invoke(app, ["show", "runs"]).stdout
    found = {each.what: type(each.error) for each in checkup() if each.error}
    assert found == {"topic eu/sales": KafkaUnreachable}
    (file := tmp_path / "x.jsonl").write_text('{"id": 1}\n' * 3)
    words = ["new", "drafted", "--file", str(file), "--into", str(tmp_path / "drafts")]
    assert CliRunner().invoke(app, words).exit_code == 0


@pytest.mark.usefixtures("named_alone")
def test_cases_get_a_root_in_which_nothing_can_be_made_and_no_brokers_of_anybody():
    [(_, variables)] = start.commands(["mine"])
    assert variables["SLUICE_KAFKA"] == "127.0.0.1:1", "its registry is its cluster's"
    with pytest.raises(NotADirectoryError):
        Path(variables["SLUICE_ROOT"]).mkdir(parents=True)


def test_an_empty_variable_declares_no_root(monkeypatch):
    monkeypatch.setenv("SLUICE_ROOT__US", "")
    assert root_names() == ["", "eu"]


def test_doctor_looks_at_each_root(tmp_path, monkeypatch):
    several(tmp_path, monkeypatch, mine="root='eu'", other="about='x'", lost="root='us'")
    found = {each.what: each for each in checkup() if each.what.startswith("root")}
    assert [*found] == ["root", "root eu", "root us"]
    assert [each.says for each in found.values()] == [
        f"{tmp_path / 'own'} can be written", f"{tmp_path / 'eu'} can be written", "",
    ]  # fmt: skip
    assert isinstance(found["root us"].error, SettingInvalid)


def test_maintain_and_worker_go_through_each_root(tmp_path, monkeypatch):
    several(tmp_path, monkeypatch, mine="root='eu'", other="about='x'")
    for root, name in (("eu", "mine"), ("own", "other")):
        begun(tmp_path / root, name)
        for number in range(12):
            append_row(roots.report(name, f"run-{number}"), str(tmp_path / root))
    done = CliRunner().invoke(app, ["maintain", "--execute"])
    assert done.exit_code == 0, done.output
    for root in ("eu", "own"):
        table = deltalake.DeltaTable(str(tmp_path / root / "ops" / "runs"))
        assert len(table.file_uris()) == 1, "its files are joined"
    workers = CliRunner().invoke(app, ["worker"]).stdout
    assert [str(root) in workers for root in every_root()] == [True, True]
