"""The command line, as far as it needs no Kafka and no Spark; tests/e2e has the rest."""

import json
import logging
import re
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import click
import deltalake
import pytest
import typer
from typer.testing import CliRunner, Result

import spark_jobs
from spark_jobs.cli import COMMANDS, app, draining
from spark_jobs.cli.install import BESIDE
from spark_jobs.cli.terminal import NOT_DONE
from spark_jobs.errors import (
    LeaseHeld,
    PipelineUnknown,
    RangeInvalid,
    RepairUnknown,
    SettingInvalid,
    SluiceError,
    SpecInvalid,
    StateUnreadable,
)
from spark_jobs.ops.views import Table
from spark_jobs.registry import find as registry
from spark_jobs.settings.installation import REPO
from spark_jobs.spec import from_json_schema
from spark_jobs.topics.flights import FLIGHTS
from tests.harness import roots
from tests.harness.ran import HEAVY, ran
from tests.unit.specs import deployed

NOTING = """
from spark_jobs.pipelines.flight_events.spec import SPEC as SHIPPED

SPEC = SHIPPED.model_copy(update={"name": "noting"})
NOTED = open("noted.txt", "w")

def note(line):
    NOTED.write(line)

note("loaded")
"""
RANGE = ("--from", "--to", "--note", "--most-records", "--without-lost")
OPTIONS = {
    "validate": ("--deep", "--against", "--accept"),
    "test": ("--changed",),
    "plan": ("--next",),
    "drain": ("--report", "--run-id", "--next"),
    "catalog": (),
    "publish": ("--after", "--event"),
    "run": ("--report", "--run-id"),
    "archive": ("--run-id",),
    "explain": ("--next",),
    "state": (
        "--key",
        "--step",
        "--at-batch",
        "--changes",
        "--batches",
        "--limit",
        "--keep",
        "--next",
    ),
    "find": ("--topic", "--where", "--bytes", "--format"),
    "coverage": ("--from", "--to", "--format", "--next"),
    "where": ("--key", "--format", "--next"),
    "report": ("--html", "--last"),
    "repair": (*RANGE, "--yes", "--execute", "--next"),
    "backfill": ("--keys", *RANGE, "--yes", "--execute", "--next"),
    "verify": ("--keys", *RANGE, "--plan", "--next"),
    "replay": ("--reason", *RANGE, "--yes", "--execute", "--next"),
    "undo": ("--execute", "--next"),
    "excise": (
        "--topic",
        "--where",
        "--from",
        "--to",
        "--reason",
        "--most-records",
        "--without-lost",
        "--lift",
        "--yes",
        "--execute",
    ),
    "prove": ("--execute",),
    "rebuild": ("--execute", "--yes", "--without-lost", "--back", "--discard"),
    "reset": ("--execute",),
    "rewind": ("--to-batch", "--execute", "--next"),
    "repartition": ("--partitions", "--execute"),
    "doctor": ("--execute", "--installation", "--next"),
    "accept": ("--check", "--reason", "--execute", "--next"),
    "quarantine": ("--record", "--reason", "--execute", "--next"),
    "maintain": ("--execute",),
    "worker": (),
    "init": ("--kafka",),
    "settings": ("--format",),
    "install": ("--python",),
    "new": ("--topic", "--file", "--cluster", "--root", "--records", "--into"),
    "preview": ("--file", "--records"),
    "schema": (),
    "show": ("--limit", "--columns", "--format"),
    "bisect": ("--key", "--right", "--wrong", "--next"),
    "tune": ("--delay", "--days", "--exact", "--next"),
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
def root(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path / "root"))
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    return tmp_path / "root"


def test_there_are_these_commands():
    group = typer.main.get_command(app)
    assert isinstance(group, click.Group) or hasattr(group, "commands")
    assert set(group.commands) == set(OPTIONS)  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", COMMANDS)
def test_each_command_of_a_module_is_found_by_its_name(module):
    own = typer.main.get_group(import_module(f"spark_jobs.cli.{module}").commands)
    assert tuple(own.commands) == COMMANDS[module]


@pytest.mark.parametrize("command", OPTIONS)
def test_the_help_of_a_command_names_its_options_and_gives_an_example(command):
    done = sluice(command, "--help")
    assert done.exit_code == 0
    assert set(re.findall(r"--[a-z-]+", done.output.partition("Example")[0])) == {
        "--help",
        *OPTIONS[command],
    }
    assert f"sluice {command}" in done.output.partition("Example")[2]


@pytest.mark.parametrize("command", OPTIONS)
def test_every_option_says_what_it_means(command):
    parameters = typer.main.get_command(app).commands[command].params  # type: ignore[attr-defined]
    assert all(
        len(parameter.help) > 10 for parameter in parameters if "--help" not in parameter.opts
    )


def test_what_a_pipelines_module_leaves_open_is_written_when_a_command_ends(tmp_path):
    """A function of the module holds its globals: only the last collection closes the file."""
    module = tmp_path / "deployed" / "noting" / "spec.py"
    module.parent.mkdir(parents=True)
    module.write_text(NOTING)
    where = {"SLUICE_PIPELINES": "deployed", "PYTHONPATH": f"{tmp_path}:{REPO}", "HOME": "/"}
    ended = ran(
        sys.executable, "-m", "spark_jobs.cli", "validate", "noting", cwd=tmp_path, env=where
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "noted.txt").read_text() == "loaded"


def test_the_version_is_sluices_and_that_of_what_it_runs_on_which_is_not_imported():
    words = ("-X", "importtime", "-m", "spark_jobs.cli", "--version")
    done = ran(sys.executable, *words, check=True)
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert told == {
        "sluice": spark_jobs.__version__,
        **{package: version(package) for package in BESIDE},
    }
    imported = set(re.findall(r"\| +(\w+)$", done.stderr, re.MULTILINE))
    assert not imported & {*HEAVY} - {"great_expectations"}


def completed(words: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What bash is offered behind these words."""
    monkeypatch.setenv("_SLUICE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"sluice {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(f"{words}x".split())))
    return CliRunner().invoke(app, [], prog_name="sluice").stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        *(
            (f"{command} fl", ["flight_events"])
            for command in OPTIONS
            if command
            not in {
                "show",
                "archive",
                "worker",
                "init",
                "settings",
                "install",
                "new",
                "find",
                "excise",
            }
        ),
        ("validate flight_events ", registry.names()),
        ("plan nothing_", []),
        ("show ", list(Table)),
        ("show runs ", registry.names()),
        ("show runs --format ", ["table", "json", "csv"]),
        ("rep", ["report", "repair", "replay", "repartition"]),
    ],
)
def test_the_tab_key_completes_commands_pipelines_and_tables(words, offered, monkeypatch):
    assert completed(words, monkeypatch) == offered


def test_the_tab_key_says_nothing_where_the_pipelines_package_is_not_there(monkeypatch):
    monkeypatch.setenv("SLUICE_PIPELINES", "no_such_package")
    assert completed("plan ", monkeypatch) == []


def test_words_between_colons_are_no_pictures(monkeypatch):
    monkeypatch.setenv("SLUICE_KAFKA", ":x:")
    assert ":x:" in refused(sluice("plan", "flight_events"), SettingInvalid)


def test_validate_says_of_each_spec_that_it_is_right():
    done = sluice("validate")
    assert done.exit_code == 0
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [
        ["ok", name] for name in registry.names()
    ]
    assert sluice("validate", "flight_events").stdout.startswith(
        "ok  flight_events  flights -> deduplicate"
    )


def test_validate_warns_of_a_measure_that_two_records_can_make_fail(tmp_path, monkeypatch):
    text = (
        "from spark_jobs.spec import Aggregate, Field, Pipeline, State, Topic\n"
        "FIELDS = (Field(name='at', type='timestamp'), Field(name='n', type='bigint'))\n"
        "SPEC = Pipeline(name='departure_delays', about='A sum.', topic=Topic(name='t', fields=FIELDS,"
        " event_time='at'), steps=(Aggregate(measures={'total': 'sum(n)'}),), output_mode='update',"
        " state=State(budget_rows=9))\n"
    )
    deployed(tmp_path, monkeypatch, text, "departure_delays")
    told = " ".join(sluice("validate").stdout.split())
    assert "warning departure_delays step 1 (aggregate), measures['total']: sum(n) " in told
    assert "try_sum" in told


def test_validate_refuses_a_wrong_spec_in_one_line_with_its_field(tmp_path, monkeypatch):
    shipped = (REPO / "spark_jobs" / "pipelines" / "flight_events" / "spec.py").read_text()
    wrong = shipped.replace('"2 hours"', '"0 seconds"').replace('"flight_events"', '"sales"')
    deployed(tmp_path, monkeypatch, wrong, "sales")
    assert "watermark_delay is '0:00:00'" in refused(sluice("validate"), SpecInvalid)


@pytest.mark.parametrize(
    "words",
    [
        ("validate", "flight_event"),
        ("plan", "flight_event"),
        ("explain", "flight_event"),
        ("reset", "flight_event"),
        ("show", "runs", "flight_event"),
        ("rewind", "flight_event", "--to-batch", "1"),
        ("doctor", "flight_event"),
        ("state", "flight_event"),
        ("drain", "flight_event"),
    ],
)
def test_a_pipeline_that_there_is_not_is_refused_with_the_closest_that_there_is(words):
    assert "Did you mean flight_events?" in refused(sluice(*words), PipelineUnknown)


@pytest.mark.parametrize("given", ["[flights]", "[/x]", "[bold]a", "a\\[b"])
def test_a_line_has_what_was_given_as_it_was_given_brackets_too(given, monkeypatch):
    """Rich takes [word] for markup: it would vanish, and [/word] would be an error of rich's."""
    monkeypatch.setenv("SLUICE_KAFKA", given)
    assert f"SLUICE_KAFKA is {given!r}" in refused(sluice("plan", "flight_events"), SettingInvalid)


def test_what_a_drain_tells_of_failing_rows_has_brackets_too(caplog, tmp_path):
    caplog.set_level(logging.INFO, "spark_jobs")
    failed = roots.check(column="[x]", type="a_check", sample="[null, [/b]]")
    draining.summarise(roots.report("flight_events", checks=(failed,)), tmp_path / "[bold]")
    told = caplog.text
    assert "failed (critical): a_check([x]), 3 failing, for example [null, [/b]]" in told
    assert f"report: {tmp_path}/[bold]" in told


def test_a_drain_that_is_refused_before_it_starts_spark_has_its_row_in_ops_runs(
    tmp_path, monkeypatch, log_as_before
):
    def plan(*_: object):
        raise LeaseHeld("another run works.")

    monkeypatch.setattr("spark_jobs.runs.plan.plan", plan)
    monkeypatch.setenv("SLUICE_ROOT", str(tmp_path))
    assert sluice("drain", "flight_events", "--run-id", "mine").exit_code == LeaseHeld.exit_status
    [row] = deltalake.DeltaTable(str(tmp_path / "ops" / "runs")).to_pyarrow_table().to_pylist()
    assert (row["pipeline"], row["run_id"]) == ("flight_events", "mine")
    assert row["problem"] == "LEASE_HELD"


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_drains_lines_have_the_form_of_the_log(form, monkeypatch, log_as_before):
    line = "flight_events: nothing to do [x]"
    monkeypatch.setattr(
        "spark_jobs.runs.plan.plan", lambda *_: SimpleNamespace(lines=(line,), idle=True)
    )
    monkeypatch.setenv("SLUICE_LOG", form)
    done = sluice("drain", "flight_events", "--run-id", "mine")
    assert done.exit_code == 0
    (told,) = done.stdout.splitlines()
    if form == "text":
        assert told == line
    else:
        fields = json.loads(told)
        assert (fields["message"], fields["pipeline"], fields["run"]) == (
            line,
            "flight_events",
            "mine",
        )


@pytest.mark.parametrize("command", ["plan", "drain", "explain", "reset", "state"])
def test_brokers_that_are_not_named_are_asked_for_by_the_variable(command, monkeypatch):
    monkeypatch.delenv("SLUICE_KAFKA")
    assert "SLUICE_KAFKA is not set" in refused(sluice(command, "flight_events"), SettingInvalid)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("rewind", "flight_events"), "--to-batch"),
        (("rewind", "flight_events", "--to-batch", "-1"), "greater than or equal to 0"),
        (("show", "nothing"), "quarantine"),
        (("show", "runs", "--limit", "0"), "greater than or equal to 1"),
        (("plan",), "PIPELINE"),
        (("plan", "flight_events", "--execute"), "--execute"),
        (("sweep",), "sweep"),
    ],
)
def test_what_is_typed_wrongly_is_refused_with_what_would_be_right(words, says, root):
    done = sluice(*words)
    assert done.exit_code == USAGE
    assert says in done.stderr
    assert not root.exists()


def test_rewind_where_nothing_ran_says_that_there_is_no_batch():
    line = refused(sluice("rewind", "flight_events", "--to-batch", "1"), StateUnreadable)
    assert line.endswith("sluice reset flight_events")


def test_reset_where_nothing_ran_shows_that_nothing_is_moved(root):
    done = sluice("reset", "flight_events")
    assert done.exit_code == NOT_DONE
    assert "flight_events: no checkpoint" in done.stdout
    assert "move" not in done.stdout
    assert "records that Kafka no longer holds are not read again" in done.stdout
    assert done.stdout.splitlines()[-1] == "nothing is done yet: add --execute"


@pytest.mark.parametrize("command", ["repair", "backfill", "verify", "replay", "coverage"])
def test_an_end_of_a_range_that_is_no_time_is_called_by_its_option(command):
    ends = ("--from", "2013-02-03T00:00", "--to", "2013-02-30")
    line = refused(sluice(command, "departure_delays", *ends), RangeInvalid)
    assert "from is '2013-02-03T00:00': it has no time zone" in line
    assert "to is '2013-02-30': it is not a time" in line


def test_an_undo_of_a_repair_that_there_is_not_is_refused_before_it_is_executed():
    assert "nothing was staged" in refused(sluice("undo", "flight_events", "r1"), RepairUnknown)


def test_a_topic_is_written_as_a_json_schema_that_is_its_declaration():
    done = sluice("schema", "flight_events")
    assert (done.exit_code, from_json_schema(done.stdout)) == (0, FLIGHTS.fields)
