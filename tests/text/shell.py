"""Shell blocks of the documents: each command is parsed by what would run it, and is not run."""

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache

import typer

from local.reference.page import BESIDE
from spark_jobs.cli import app
from spark_jobs.settings.installation import REPO
from spark_jobs.settings.variables import VARIABLES

DOCUMENTS = [REPO / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(
    (REPO / "docs").glob("*.md")
)
TARGETS = frozenset(re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(), re.MULTILINE))
ASSIGNMENT = re.compile(r"([A-Z][A-Z0-9_]*)=(.*)", re.DOTALL)
SYSTEM = frozenset({"TMPDIR"})
"""What POSIX defines."""


@cache
def documented() -> frozenset[str]:
    """Environment variables: an installation's, those for diagnosis, and those of the documents."""
    rows = [
        line.split("|")[1]
        for path in DOCUMENTS
        for line in path.read_text().splitlines()
        if line.startswith("| `")
    ]
    return (
        frozenset(re.findall(r"`([A-Z][A-Z0-9_]+)`", " ".join(rows)))
        | VARIABLES.keys()
        | SYSTEM
        | {name.partition("=")[0] for name in BESIDE}
    )


def commands(block: str) -> Iterator[list[str]]:
    """The words of each simple command: a pipe, a redirection, `&&` or a remark ends it."""
    text = ""
    for line in block.splitlines():
        text += f"{line}\n"
        try:
            words = _words(text)
        except ValueError:
            continue  # a quotation that the next line continues
        if line.endswith("\\"):
            continue
        text = ""
        command = []
        for word in words:
            if re.fullmatch(r"[|&;<>]+", word):
                yield command
                command = []
            else:
                command.append(word)
        yield command
    if text:
        raise ValueError(f"a quotation or a command has no end: {text!r}")


def _words(text: str) -> list[str]:
    command = text.replace("\\\n", " ")
    if command.startswith("sluice "):
        command = re.split(r"\s{2,}", command)[0]
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    return list(lexer)


def check(block: str) -> None:
    """Raises AssertionError, or what typer raises, for anything that does not exist."""
    assert set(re.findall(r"\$\{?([A-Z][A-Z0-9_]*)", block)) <= documented()
    for command in commands(block):
        words = command[1:] if command[:1] == ["export"] else command
        while words and (assigned := ASSIGNMENT.fullmatch(words[0])):
            _check_variable(*assigned.groups())
            words = words[1:]
        if words[:1] == ["sluice"]:
            _check_sluice(words[1:])
        elif words[:1] == ["make"]:
            assert {word for word in words[1:] if "=" not in word} <= TARGETS


def check_console(block: str) -> None:
    """A transcript: the lines that begin with `$ ` are commands, the others are their output."""
    typed = [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
    assert typed
    check("\n".join(typed))


def _check_variable(name: str, value: str) -> None:
    assert name in documented() or name.startswith(("AIRFLOW_CONN_", "AIRFLOW__")), (
        f"{name} is not documented"
    )
    if value.startswith("{"):
        json.loads(value)


def _check_sluice(words: list[str]) -> None:
    group = typer.main.get_command(app)
    name, *rest = words
    if name.startswith("--"):
        assert any(name in option.opts for option in group.params), name
    else:
        group.commands[name].make_context(name, rest)  # type: ignore[attr-defined]
