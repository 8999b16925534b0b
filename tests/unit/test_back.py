"""`sluice rebuild --back` asks Kafka before a person: some of what is read again may be gone."""

import pytest
from click.testing import Result
from typer.testing import CliRunner

from spark_jobs.admin.rebuild.switch import plan_back
from spark_jobs.checkpoint.notes.live import read_live
from spark_jobs.cli import app
from spark_jobs.cli.terminal import NOT_DONE
from spark_jobs.errors import TopicRemade
from spark_jobs.registry import find as registry
from spark_jobs.source import topic_state
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from tests.harness.sources import says
from tests.unit.drains import SPEC, Drains
from tests.unit.test_switch import NEXT, Rebuilt


@pytest.fixture
def rebuilt(tmp_path, monkeypatch) -> Rebuilt:
    """Switched, then two batches: the former has read offsets 0 to 4, the live one 0 to 7."""
    made = Rebuilt(tmp_path)
    made.switch()
    Drains.of(made.root, NEXT).drain(6, 7)
    monkeypatch.setattr(registry, "load", lambda _: SPEC)
    monkeypatch.setattr(registry, "load_next", lambda _: NEXT)
    return made


def broker_has(monkeypatch: pytest.MonkeyPatch, *earliest: int, topic_id: str = "topic-1"):
    """From which offset on, at the first question and at each later one."""
    said = [SourceState(topic_id, Positions({0: each}), Positions({0: 8})) for each in earliest]
    says(monkeypatch, lambda: said.pop(0) if len(said) > 1 else said[0])


def asked(rebuilt: Rebuilt, *words: str) -> Result:
    where = {"SLUICE_ROOT": rebuilt.root, "SLUICE_KAFKA": "127.0.0.1:1", "COLUMNS": "200"}
    return CliRunner().invoke(app, ["rebuild", SPEC.name, "--back", *words], env=where)


def drains(rebuilt: Rebuilt) -> int:
    """The state version that is live."""
    return read_live(rebuilt.paths()).version


def test_without_a_broker_nobody_knows_what_would_be_lost_and_it_is_refused(rebuilt, monkeypatch):
    monkeypatch.setattr(topic_state, "TIMEOUT_SECONDS", 0.5)
    for words in ((), ("--execute", "--yes"), ("--execute", "--yes", "--without-lost")):
        done = asked(rebuilt, *words)
        assert done.exit_code != 0
        assert "KAFKA_UNREACHABLE" in done.output
    assert (drains(rebuilt), rebuilt.live.rows) == (2, [*range(5)])


def test_what_kafka_has_no_longer_is_counted_and_needs_a_persons_word(rebuilt, monkeypatch):
    broker_has(monkeypatch, 7)
    found = plan_back(NEXT, SPEC, rebuilt.live.settings)
    assert (found.again, found.lost) == (3, {0: ((5, 7),)})
    for words in ((), ("--execute", "--yes")):
        done = asked(rebuilt, *words)
        assert "RECORDS_UNREACHABLE" in done.output
        assert "partition 0: 2 (5 to 6)" in done.output
    assert (drains(rebuilt), asked(rebuilt, "--without-lost").exit_code) == (2, NOT_DONE)
    assert drains(rebuilt) == 2, "a dry run"
    assert asked(rebuilt, "--execute", "--yes", "--without-lost").exit_code == 0
    assert (drains(rebuilt), rebuilt.live.rows) == (1, [*range(5)])


def test_where_kafka_has_everything_it_says_so_and_switches(rebuilt, monkeypatch):
    broker_has(monkeypatch, 5)
    done = asked(rebuilt, "--execute", "--yes")
    assert "reads 3 offsets again" in done.output
    assert (done.exit_code, drains(rebuilt)) == (0, 1)


def test_an_answer_holds_for_what_was_shown(rebuilt, monkeypatch):
    broker_has(monkeypatch, 6, 7)
    assert "RECORDS_UNREACHABLE" in asked(rebuilt, "--execute", "--yes", "--without-lost").output
    assert drains(rebuilt) == 2


def test_a_topic_that_was_made_anew_since_the_switch_has_nothing_for_the_former_checkpoint(
    rebuilt, monkeypatch
):
    broker_has(monkeypatch, 0, topic_id="topic-2")
    with pytest.raises(TopicRemade):
        plan_back(NEXT, SPEC, rebuilt.live.settings)
