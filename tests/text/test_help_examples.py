"""The examples of each command's help: a person copies them into a shell."""

import subprocess

import pytest
from typer.main import get_command

from spark_jobs.cli import app

LETTERS = 78
"""Of a line in a terminal of 80: Typer breaks longer ones, and a shell would run the half."""


def examples(command, name="sluice"):
    yield name, command.epilog
    for inner, each in getattr(command, "commands", {}).items():
        yield from examples(each, inner)


@pytest.mark.parametrize(("name", "text"), [*examples(get_command(app))])
def test_examples_are_as_a_shell_reads_them(name, text):
    title, *lines = text.splitlines()
    assert title == "Examples:"
    assert any(name in line for line in lines)
    assert [line for line in lines if len(line) > LETTERS] == []
    done = subprocess.run(["bash", "-n"], input="\n".join(lines), text=True, check=False)
    assert done.returncode == 0
