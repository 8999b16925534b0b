"""Each error is made of a value for each of its reason's parameters, by name.

The parameters are the fields of a template, which mypy cannot know.
"""

import ast

import pytest

from spark_jobs.errors import catalogue
from spark_jobs.settings.installation import REPO

KINDS = {kind.__name__: kind for kind in catalogue()}


def wrong(source: str) -> list[str]:
    """The calls of `source` that give a reason other values than it takes."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(
                func=ast.Attribute(ast.Name(kind) | ast.Attribute(attr=kind), reason)
            ) if kind in KINDS and (known := KINDS[kind].reasons().get(reason)):
                names = [each.arg or "**" for each in node.keywords]
                if node.args or sorted(names) != sorted(known.parameters):
                    found.append(ast.unparse(node))
    return found


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
    ],
)
def test_a_wrong_call_would_be_found(source, is_wrong):
    assert bool(wrong(source)) == is_wrong


def test_each_call_gives_a_reason_what_it_takes():
    found = [
        f"{path.relative_to(REPO)}: {each}"
        for folder in ("spark_jobs", "plugins", "pipelines", "local", "dags", "tests")
        for path in sorted((REPO / folder).rglob("*.py"))
        for each in wrong(path.read_text())
    ]
    assert found == []
