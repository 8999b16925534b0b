"""`sluice publish` beside a DAG that publishes too: a root as drains leave it, and each one's listener."""

import json

import deltalake
import pytest
from typer.testing import CliRunner

from spark_jobs.cli import app
from spark_jobs.errors import CheckpointBroken
from spark_jobs.registry import find as registry
from tests.harness.listener import Listener
from tests.unit.drains import SPEC, Drains


@pytest.fixture
def drains(tmp_path, monkeypatch):
    made = Drains(tmp_path)
    monkeypatch.setenv("SLUICE_ROOT", made.settings.root)
    monkeypatch.setattr(registry, "load", lambda _: SPEC)
    return made


def publish(*words):
    done = CliRunner().invoke(app, ["publish", SPEC.name, *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_it_shows_the_judged_rows_and_numbers_what_is_new_once(drains, tmp_path):
    drains.drain(0, 1)
    drains.drain(2, 2, red=True)
    publish("--event", str(tmp_path / "event.json"))
    event = json.loads((tmp_path / "event.json").read_text())
    assert (event["number"], event["table_version"], event["account"]["read"]) == (1, 2, 2)
    shown = deltalake.DeltaTable(str(drains.paths.published_table)).to_pyarrow_table()
    assert sorted(shown.column("n").to_pylist()) == [0, 1]
    publish("--event", str(tmp_path / "none.json"))
    assert not (tmp_path / "none.json").exists()


def test_who_lost_an_event_names_the_last_one_it_has_and_is_told_the_next_again(drains, tmp_path):
    for batch in range(3):
        drains.drain(batch, batch)
        publish()
    publish("--after", "1", "--event", str(tmp_path / "again.json"))
    assert json.loads((tmp_path / "again.json").read_text())["number"] == 2


def test_a_number_that_was_never_told_is_refused_and_fixes_nothing(drains):
    drains.drain(0, 0)
    publish()
    drains.drain(1, 1)
    done = CliRunner().invoke(app, ["publish", SPEC.name, "--after", "1000"])
    assert done.exit_code == 2
    assert [path.stem for path in drains.paths.events.iterdir()] == ["000000000001"]


def test_an_event_that_cannot_be_written_is_not_made(drains, tmp_path):
    drains.drain(0, 0)
    into = str(tmp_path / "nowhere" / "event.json")
    assert CliRunner().invoke(app, ["publish", SPEC.name, "--event", into]).exit_code == 2
    assert not drains.paths.events.exists()


def test_an_older_event_that_does_not_parse_is_a_broken_checkpoint(drains):
    for batch in range(3):
        drains.drain(batch, batch)
        publish()
    (drains.paths.events / "000000000002.json").write_text("{")
    done = CliRunner().invoke(app, ["publish", SPEC.name, "--after", "1"])
    assert done.exit_code == CheckpointBroken.exit_status


def test_a_dag_beside_it_is_told_every_event_in_its_order(drains):
    airflow = Listener()
    for batch in range(4):
        drains.drain(batch, batch)
        if batch in {1, 2}:
            publish()
        else:
            airflow.publish(drains.paths, SPEC)
    while airflow.publish(drains.paths, SPEC):
        pass
    assert [event.number for event in airflow.events] == [1, 2, 3, 4]
    assert [event.account.read for event in airflow.events] == [1, 1, 1, 1]
