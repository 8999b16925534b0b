"""The errors: codes, exit statuses, and a row of docs/reference.md for each."""

import pickle
import re
from pathlib import Path

import pytest

from spark_jobs.errors import (
    KafkaUnreachable,
    SluiceError,
    SparkFailed,
    by_code,
    catalogue,
    unexpected,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference.md"


def test_codes_and_exit_statuses_are_each_used_once() -> None:
    assert len({error.code for error in catalogue()}) == len(catalogue()) > 0
    assert len({error.exit_status for error in catalogue()}) == len(catalogue())
    assert SluiceError.exit_status not in {error.exit_status for error in catalogue()}


@pytest.mark.parametrize("error", catalogue(), ids=lambda error: str(error.code))
def test_an_exit_status_is_one_that_no_shell_or_signal_uses(error: type[SluiceError]) -> None:
    assert 1 <= error.exit_status <= 125


@pytest.mark.parametrize("error", catalogue(), ids=lambda error: str(error.code))
def test_a_code_leads_back_to_its_class(error: type[SluiceError]) -> None:
    assert by_code(error.code) is error


def test_a_code_that_nobody_knows_leads_to_the_root() -> None:
    assert by_code("FROM_A_NEWER_SLUICE") is SluiceError


def test_a_class_made_elsewhere_is_not_in_the_catalogue() -> None:
    class Elsewhere(SluiceError):
        code = "ELSEWHERE"

    assert Elsewhere not in catalogue()


def test_an_error_says_code_what_and_remedy_on_one_line() -> None:
    assert (
        str(KafkaUnreachable("no broker.", "Start it."))
        == "KAFKA_UNREACHABLE: no broker. Start it."
    )
    assert str(KafkaUnreachable("no broker.")) == "KAFKA_UNREACHABLE: no broker."


def test_an_error_survives_the_way_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(KafkaUnreachable("no broker.", "Start it.")))
    assert (type(again), again.what, again.remedy) == (KafkaUnreachable, "no broker.", "Start it.")


def test_an_unexpected_error_becomes_one_line_with_a_code(capsys):
    wrapped = unexpected(ValueError("\n  first\nsecond"))
    assert isinstance(wrapped, SparkFailed)
    assert wrapped.what == "ValueError: first"
    assert capsys.readouterr().err == ""
    assert unexpected(wrapped) is wrapped


def test_the_stack_trace_is_there_for_whoever_asks(capsys, monkeypatch):
    monkeypatch.setenv("SLUICE_TRACEBACK", "1")
    unexpected(ValueError("first"))
    assert "ValueError: first" in capsys.readouterr().err


def test_every_error_has_one_row_of_the_page_with_its_exit_status() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [(error.code, str(error.exit_status)) for error in (*catalogue(), SluiceError)]


def test_every_code_that_a_page_names_has_its_error() -> None:
    """Nobody looks in vain for what a page calls by a code."""
    known = {error.code for error in catalogue()} | {SluiceError.code}
    starts = {code.partition("_")[0] for code in known} - {"SLUICE"}
    for page in PAGE.parent.glob("*.md"):
        named = set(re.findall(r"(?<![\w.`])[A-Z]+(?:_[A-Z]+)+\b", page.read_text()))
        assert {code for code in named if code.partition("_")[0] in starts} <= known, page.name
