"""The command line, as far as it needs no Kafka and no Spark. tests/e2e runs each command over a root that was drained."""

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest
import typer
from typer.testing import CliRunner, Result

from spark_jobs import cli
from spark_jobs.cli import app
from spark_jobs.contract import registry
from spark_jobs.contract.errors import PipelineUnknown, SettingInvalid, SluiceError, SpecInvalid, StateUnreadable
from spark_jobs.contract.report import CheckResult, Report
from spark_jobs.contract.settings import REPO
from spark_jobs.show import Table

OPTIONS = {
    "validate": (), "plan": (), "drain": ("--report", "--run-id"), "explain": (),
    "state": ("--key", "--step", "--at-batch", "--changes", "--batches", "--limit"),
    "reset": ("--execute",), "rewind": ("--to-batch", "--execute"), "doctor": ("--execute",), "show": ("--pipeline", "--limit"),
}
USAGE = 2
"""The exit status of what the command line itself refuses, as everywhere."""


def sluice(*words: str) -> Result:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200", "TERM": "dumb"})


def refused(done: Result, error: type[SluiceError]) -> str:
    """The one line of a refusal that operations.md has."""
    assert done.exit_code == error.exit_status, done.output
    [line] = done.stderr.splitlines()
    assert line.startswith(error.code)
    return line


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    return tmp_path / "root"


def test_there_are_these_commands() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, click.Group) or hasattr(group, "commands")
    assert set(group.commands) == set(OPTIONS)  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", OPTIONS)
def test_the_help_of_a_command_names_its_options_and_gives_an_example(command: str) -> None:
    done = sluice(command, "--help")
    assert done.exit_code == 0
    assert set(re.findall(r"--[a-z-]+", done.output.partition("Example")[0])) == {"--help", *OPTIONS[command]}
    assert f"sluice {command}" in done.output.partition("Example")[2]


def documented() -> list[str]:
    """Each line of an example in the documents that begins with `sluice`, without what is said beside it."""
    texts = "\n".join(path.read_text() for path in (REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))))
    blocks = "\n".join(re.findall(r"```[a-z]*\n(.*?)```", texts, re.DOTALL))
    found = re.findall(r"^(?:SLUICE_[A-Z]+=\S+ )?sluice (.+?)(?:  .*)?$", blocks, re.MULTILINE)
    return sorted(set(found))


@pytest.mark.parametrize("words", documented())
def test_what_the_documents_say_to_type_is_understood(words: str) -> None:
    name, *rest = shlex.split(words)
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    command.make_context(name, rest)


def test_the_documents_say_what_to_type() -> None:
    assert {words.split()[0] for words in documented()} == set(OPTIONS)


def test_validate_says_of_each_spec_that_it_is_right() -> None:
    done = sluice("validate")
    assert done.exit_code == 0
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [["ok", name] for name in registry.names()]
    assert sluice("validate", "flight_events").stdout.startswith("ok  flight_events  flights -> deduplicate")


def test_validate_refuses_a_wrong_spec_in_one_line_with_its_field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "wrong_pipelines" / "sales"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    shipped = (REPO / "spark_jobs" / "pipelines" / "flight_events" / "spec.py").read_text()
    (folder / "spec.py").write_text(shipped.replace('"2 hours"', '"0 seconds"').replace('"flight_events"', '"sales"'))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SLUICE_PIPELINES", "wrong_pipelines")
    assert "watermark_delay is '0:00:00'" in refused(sluice("validate"), SpecInvalid)


@pytest.mark.parametrize("words", [
    ("validate", "flight_event"), ("plan", "flight_event"), ("explain", "flight_event"), ("reset", "flight_event"),
    ("show", "runs", "--pipeline", "flight_event"), ("rewind", "flight_event", "--to-batch", "1"), ("doctor", "flight_event"),
    ("state", "flight_event"), ("drain", "flight_event"),
])
def test_a_pipeline_that_there_is_not_is_refused_with_the_closest_that_there_is(words: tuple[str, ...]) -> None:
    assert "Did you mean flight_events?" in refused(sluice(*words), PipelineUnknown)


@pytest.mark.parametrize("given", ["[flights]", "[/x]", "[bold]a", "a\\[b"])
def test_a_line_has_what_was_given_as_it_was_given_brackets_too(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich takes [word] for markup: it would vanish, and [/word] would be an error of rich's."""
    monkeypatch.setenv("SLUICE_KAFKA", given)
    assert f"SLUICE_KAFKA is {given!r}" in refused(sluice("plan", "flight_events"), SettingInvalid)


def test_what_a_drain_tells_of_failing_rows_has_brackets_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    failed = CheckResult(
        suite="output", type="a_check", column="[x]", severity="critical", outcome="failed", sample="[null, [/b]]")
    report = Report(
        pipeline="flight_events", run_id="run", status="succeeded", started_at=noon, ended_at=noon, checks=(failed,))
    cli._summarise(report, tmp_path / "[bold]")  # noqa: SLF001 - a drain would take Spark
    told = capsys.readouterr().out
    assert "failed (critical): a_check([x]), for example [null, [/b]]" in told
    assert f"report: {tmp_path}/[bold]" in told


@pytest.mark.parametrize("command", ["plan", "drain", "explain", "reset", "state"])
def test_brokers_that_are_not_named_are_asked_for_by_the_variable(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLUICE_KAFKA")
    assert "SLUICE_KAFKA is not set" in refused(sluice(command, "flight_events"), SettingInvalid)


@pytest.mark.parametrize(("words", "says"), [
    (("rewind", "flight_events"), "--to-batch"),
    (("rewind", "flight_events", "--to-batch", "-1"), "greater than or equal to 0"),
    (("show", "nothing"), "quarantine"),
    (("show", "runs", "--limit", "0"), "greater than or equal to 1"),
    (("plan",), "PIPELINE"),
    (("plan", "flight_events", "--execute"), "--execute"),
    (("sweep",), "sweep"),
])
def test_what_is_typed_wrongly_is_refused_with_what_would_be_right(words: tuple[str, ...], says: str, root: Path) -> None:
    done = sluice(*words)
    assert done.exit_code == USAGE
    assert says in done.stderr
    assert not root.exists()


@pytest.mark.parametrize("table", Table)
def test_show_of_a_root_where_nothing_ran_is_an_empty_table_and_makes_nothing(table: Table, root: Path) -> None:
    done = sluice("show", table)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"{table}, newest first")
    assert not root.exists()


def test_rewind_where_nothing_ran_says_that_there_is_no_batch() -> None:
    assert "there is that of none" in refused(sluice("rewind", "flight_events", "--to-batch", "1"), StateUnreadable)


def test_reset_where_nothing_ran_shows_that_nothing_is_moved(root: Path) -> None:
    done = sluice("reset", "flight_events")
    assert done.exit_code == 0
    assert "flight_events: no checkpoint" in done.stdout
    assert "move" not in done.stdout
    assert done.stdout.splitlines()[-1] == "nothing is done yet: add --execute"
