"""The examples of the documents and of docstrings run, and commands of shell blocks exist."""

import re

import pytest

from spark_jobs.settings.installation import REPO
from spark_jobs.settings.variables import VARIABLES
from tests.text.documents import LANGUAGES, evaluate, fences, in_docstrings, in_documents
from tests.text.shell import DOCUMENTS, check, commands, documented

BLOCKS = dict(in_documents())
DOCSTRINGS = dict(in_docstrings())


@pytest.mark.parametrize("page", BLOCKS)
def test_the_blocks_of_a_document_are_right(page):
    evaluate(BLOCKS[page])


@pytest.mark.parametrize("module", DOCSTRINGS)
def test_the_examples_of_docstrings_give_what_they_show(module):
    evaluate(DOCSTRINGS[module])


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_fence_names_its_language_if_it_is_more_than_text(path):
    for language, text in fences(path):
        assert language in LANGUAGES
        assert language or not re.search(r"^(\$ |export |sluice |make )", text, re.MULTILINE), (
            f"sh or console? {text}"
        )


def test_the_blocks_have_every_command():
    shell_blocks = [
        text for path in DOCUMENTS for language, text in fences(path) if language == "sh"
    ]
    used = {
        words[words.index("sluice") + 1]
        for block in shell_blocks
        for words in commands(block)
        if "sluice" in words
    }
    assert used >= {
        "validate",
        "plan",
        "drain",
        "explain",
        "state",
        "show",
        "reset",
        "rewind",
        "doctor",
        "accept",
        "maintain",
        "rebuild",
        "--version",
    }


def test_a_variable_of_sluice_that_a_document_names_is_documented():
    compose = set(re.findall(r"SLUICE_[A-Z0-9_]+", (REPO / "docker-compose.yml").read_text()))
    make = set(re.findall(r"SLUICE_[A-Z0-9_]+", (REPO / "Makefile").read_text()))
    named = {
        name
        for path in DOCUMENTS
        for name in re.findall(
            r"\bSLUICE_[A-Z0-9_]+?(?=__|\b)", path.read_text()
        )  # __EU: a cluster's
    } - {"SLUICE_ERROR"}
    assert named >= VARIABLES.keys()
    assert named <= documented() | compose | make


@pytest.mark.parametrize(
    "line",
    [
        "sluice drane flight_events",
        "sluice drain flight_events --excute",
        "sluice show rows",
        "sluice --verzion",
        "make demonstration",
        'export SLUICE_KAFKAS="localhost:9092"',
        "ls $SLUICE_ROTT",
        "export AIRFLOW_CONN_X='{\"a\": }'",
    ],
)
def test_a_wrong_line_is_found(line):
    with pytest.raises(Exception):  # noqa: B017, PT011 - the parsers raise errors of their own
        check(line)
