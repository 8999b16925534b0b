"""The errors: codes, exit statuses, and a row of docs/reference.md for each."""

import ast
import pickle
import re
import subprocess
import sys

import pytest

from spark_jobs import errors
from spark_jobs.errors import (
    CheckFailed,
    KafkaUnreachable,
    LeaseHeld,
    RangeInvalid,
    RecordsGone,
    SluiceError,
    SparkFailed,
    TopicMissing,
    catalogue,
    unexpected,
)
from spark_jobs.messages.report import Problem
from spark_jobs.settings.installation import REPO

PAGE = REPO / "docs" / "reference.md"


def test_codes_and_exit_statuses_are_each_used_once():
    statuses = {error.exit_status for error in (*catalogue(), SluiceError)}
    assert len({error.code for error in catalogue()}) == len(statuses) - 1 == len(catalogue()) > 0
    assert statuses < {*range(1, 126)}, "no shell and no signal uses them"


def test_each_class_comes_by_the_door_and_a_code_finds_one_whose_module_nobody_asked_for():
    assert [getattr(errors, kind.__name__) for kind in catalogue()] == [*catalogue()]
    asked = "from spark_jobs.errors import by_code; print(by_code('STAGING_STALE').__name__)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["StagingStale"]


def test_an_error_says_code_what_and_remedy_on_one_line():
    assert (
        str(KafkaUnreachable("no broker.", "Start it."))
        == "KAFKA_UNREACHABLE: no broker. Start it."
    )
    assert str(KafkaUnreachable("no broker.")) == "KAFKA_UNREACHABLE: no broker."


def test_an_unexpected_error_becomes_one_line_with_a_code(capsys):
    wrapped = unexpected(ValueError("\n  first\nsecond"))
    assert isinstance(wrapped, SparkFailed)
    assert (wrapped.what, capsys.readouterr().err) == ("ValueError: first", "")
    assert unexpected(wrapped) is wrapped


def test_every_error_has_one_row_of_the_page_with_its_exit_status():
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [(error.code, str(error.exit_status)) for error in (*catalogue(), SluiceError)]


REASONS = [(kind, each) for kind in catalogue() for each in kind.reasons().values()]
PRODUCT = [
    path
    for folder in ("spark_jobs", "plugins", "local", "dags")
    for path in sorted((REPO / folder).rglob("*.py"))
    if path.parent.name != "errors"
]


@pytest.mark.parametrize(("kind", "why"), REASONS, ids=lambda each: getattr(each, "name", ""))
def test_a_reason_says_all_that_it_is_given_even_a_text_for_a_number(kind, why):
    error = getattr(kind, why.name)(**{name: f"<{name}>" for name in why.parameters})
    unsaid = [each for each in why.parameters if f"<{each}>" not in error.what + error.remedy]
    assert unsaid == SAID_BY_OTHERS.get(why.name, [])
    assert why.quoted <= {*why.parameters}
    assert error.remedy


SAID_BY_OTHERS = {"fields_refused": ["fields"]}
"""Parameters that the text has in another: for whoever asks the error."""


def test_a_number_is_said_in_its_form():
    assert "1,234,567" in RangeInvalid.too_many_rows(pipeline="p", rows=1234567, most=9).what


@pytest.mark.parametrize(
    ("why", "given"),
    [("held", {"folder": "f"}), ("held", {"folder": "f", "holder": "h", "now": 1})],
)
def test_a_reason_takes_a_value_for_each_of_its_parameters_and_no_other(why, given):
    with pytest.raises(TypeError):
        getattr(LeaseHeld, why)(**given)


@pytest.mark.parametrize(
    "why", ["rows_failed", "records_rejected", "account_failed", "state_failed"]
)
def test_a_failed_check_names_the_way_on(why):
    assert "sluice accept {pipeline} --check" in CheckFailed.reasons()[why].remedy


def test_no_remedy_names_only_a_module_that_a_wheel_has_not():
    remedies = [why.remedy for _, why in REASONS]
    assert [r for r in remedies if "python -m local" in r and "`sluice install`" not in r] == []


def test_every_error_has_a_reason():
    """Texts are in errors/ alone."""
    kinds = {kind.__name__ for kind in catalogue()}
    by_hand = [
        f"{path.name}:{node.lineno} {node.func.id}"
        for path in PRODUCT
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in kinds
    ]
    assert by_hand == []


def test_every_reason_is_one_that_happens():
    text = "".join(path.read_text() for path in PRODUCT)
    text += (REPO / "spark_jobs" / "errors" / "run.py").read_text()
    used = {*re.findall(r"\b(\w+)(?=\.(\w+))", text)}
    wanted = {(kind.__name__, why.name) for kind, why in REASONS}
    assert {each for each in wanted - used if ("refused_as", each[1]) not in used} == set()


KINDS = {kind.__name__: kind for kind in catalogue()}


def wrong(source: str) -> list[str]:
    """The calls of `source` that give a reason other values than the fields of its templates, which
    mypy does not know. Also the reasons that it passes on, where it calls no name with these.
    """
    nodes = [*ast.walk(ast.parse(source))]
    calls = {id(node.func): node for node in nodes if isinstance(node, ast.Call)}
    of_names = [given(call) for call in calls.values() if isinstance(call.func, ast.Name)]
    found = []
    for node in nodes:
        match node:
            case ast.Attribute(ast.Name(kind) | ast.Attribute(attr=kind), reason) if (
                kind in KINDS and (known := KINDS[kind].reasons().get(reason))
            ):
                call = calls.get(id(node))
                if sorted(known.parameters) not in ([given(call)] if call else of_names):
                    found.append(ast.unparse(call or node))
    return found


def given(call: ast.Call) -> list[str]:
    """What it gives by name, with a mark for all that it gives otherwise."""
    return sorted([*("*" for _ in call.args), *(each.arg or "**" for each in call.keywords)])


@pytest.mark.parametrize(
    ("source", "is_wrong"),
    [
        ("raise LeaseHeld.held(folder=path, holder='me')", False),
        ("held = errors.LeaseHeld.held(holder=f(), folder=path)", False),
        ("raise LeaseHeld.held(folder=path)", True),
        ("raise LeaseHeld.held(folder=path, holder='me', now=1)", True),
        ("raise LeaseHeld.held(folder=path, by='me')", True),
        ("raise LeaseHeld.held(path, 'me')", True),
        ("raise LeaseHeld.held(path, holder='me')", True),
        ("raise LeaseHeld.held(folder=path, **others)", True),
        ("errors.LeaseHeld.held(folder=path)", True),
        ("held(folder=path)", False),
        ("by = LeaseHeld.held; by(folder=path, holder='me')", False),
        ("by = LeaseHeld.held; by(folder=path)", True),
        ("told(LeaseHeld.held, path)", True),
    ],
)
def test_a_wrong_call_would_be_found(source, is_wrong):
    assert bool(wrong(source)) == is_wrong


def test_each_call_gives_a_reason_what_it_takes():
    found = [
        f"{path.relative_to(REPO)}: {each}"
        for folder in ("spark_jobs", "plugins", "local", "dags", "tests")
        for path in sorted((REPO / folder).rglob("*.py"))
        for each in wrong(path.read_text())
    ]
    assert found == []


def test_an_error_keeps_its_reason_and_parameters_on_the_way_to_another_process():
    error = RecordsGone.unread_removed(loss="partition 0: 1 to 3", reset="run `sluice reset p`")
    by_json = Problem.model_validate_json(Problem.of(error).model_dump_json()).error()
    for again in (by_json, pickle.loads(pickle.dumps(error))):
        assert type(again) is RecordsGone
        assert (again.reason, again.parameters) == (error.reason, error.parameters)
        assert (again.what, again.remedy) == (error.what, error.remedy)


def test_a_reason_of_a_newer_sluice_keeps_its_text():
    newer = Problem(
        code="LEASE_HELD", reason="of_a_newer_sluice", what="it is held.", remedy="Wait."
    )
    assert str(newer.error()) == "LEASE_HELD: it is held. Wait."


def test_a_value_cannot_break_a_line_or_control_a_terminal():
    error = TopicMissing.topic_absent(brokers="b\x1b[31m\nc", topic="\u202e" * 2000, nearest="")
    assert str(error).isprintable()
    assert len(str(error)) < 8000
    assert error.parameters["topic"] == "\u202e" * 2000


def test_more_that_is_said_leaves_the_reason_as_it_is():
    error = TopicMissing.topic_absent(brokers="b", topic="t", nearest="")
    more = error.adding("Also this.", "Do that too.")
    assert (type(more), more.reason, more.parameters) == (
        TopicMissing,
        error.reason,
        error.parameters,
    )
    assert (more.what, more.remedy) == (f"{error.what} Also this.", f"{error.remedy} Do that too.")
