"""No test matches the prose of an error: a text may be made better at any time."""

import ast
import re
from pathlib import Path

import pytest

from spark_jobs.errors import SluiceError, catalogue

TESTS = Path(__file__).parents[1]
KINDS = {kind.__name__: kind for kind in (*catalogue(), SluiceError)}
AWAITED = {*KINDS, "by_code", "error", "kind"}
"""What `raises` may await of ours: a class, or a variable that holds one."""
OF_TEXTS = {"test_errors.py", "test_errors_in_tests.py", "test_withheld.py"}
"""Tests of the texts themselves."""
BY_NAME = {"tests/spark/test_rebuild.py": "a failpoint's name"}


ASKS = re.compile(r"match=|fails\(|because\(|\.what\b|\.remedy\b")
"""What all that is looked for has."""


def calls(source: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]


def prose(source: str) -> list[str]:
    """The `raises(..., match=...)` of our errors."""
    return [
        ast.unparse(call)
        for call in calls(source)
        if ast.unparse(call.func) == "pytest.raises"
        and any(each.arg == "match" for each in call.keywords)
        and {n.id for n in ast.walk(call.args[0]) if isinstance(n, ast.Name)} & AWAITED
    ]


def unknown(source: str) -> list[str]:
    """What `fails` and `because` await that no error has: a reason, a parameter."""
    found = []
    for call in calls(source):
        kind, *rest = call.args[ast.unparse(call.func) == "because" :] or [call.func]
        awaited = KINDS.get(ast.unparse(kind))
        if ast.unparse(call.func) not in {"fails", "because"} or awaited is None:
            continue
        if not rest or not isinstance(rest[0], ast.Constant):
            continue
        reason = awaited.reasons().get(str(rest[0].value))
        given = {each.arg for each in call.keywords if each.arg}
        if reason is None or not given <= {*reason.parameters}:
            found.append(ast.unparse(call))
    return found


def texts(source: str) -> list[str]:
    """What asserts `.what` or `.remedy` of an error, compares it or searches it."""
    within = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert | ast.Compare)
    ]
    within += [each for each in calls(source) if ast.unparse(each.func).startswith("re.")]
    return [
        ast.unparse(node)
        for node in within
        if any(
            isinstance(n, ast.Attribute) and n.attr in {"what", "remedy"} for n in ast.walk(node)
        )
    ]


def wrong(source: str) -> list[str]:
    return prose(source) + unknown(source) + texts(source)


@pytest.mark.parametrize(
    ("source", "matches", "lacks"),
    [
        ("pytest.raises(LeaseHeld, match='x')", True, False),
        ("pytest.raises((OSError, LeaseHeld), match=said)", True, False),
        ("pytest.raises(by_code('LEASE_HELD'), match='x')", True, False),
        ("pytest.raises(error, match=words)", True, False),
        ("pytest.raises(OSError, match='no space')", False, False),
        ("pytest.raises(LeaseHeld)", False, False),
        ("fails(LeaseHeld, 'held', holder='me')", False, False),
        ("fails(LeaseHeld, 'hold')", False, True),
        ("because(it, LeaseHeld, 'held', who='me')", False, True),
    ],
)
def test_it_would_be_found(source, matches, lacks):
    assert (bool(prose(source)), bool(unknown(source))) == (matches, lacks)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("assert 'x' in raised.value.what", True),
        ("assert report.problem.remedy", True),
        ("if 'x' in error.what: pass", True),
        ("re.search('x', problem.what)", True),
        ("assert problem.parameters['what'] == 'x'", False),
        ("because(problem, CheckpointBroken, 'file_damaged', what='x')", False),
        ("copy = error.what", False),
    ],
)
def test_a_text_that_is_compared_would_be_found(source, found):
    assert bool(texts(source)) == found


def test_no_test_matches_the_text_of_an_error_and_each_awaits_what_there_is():
    found = {
        f"{path.relative_to(TESTS.parent)}: {each}"
        for path in TESTS.rglob("*.py")
        if path.name not in OF_TEXTS and ASKS.search(path.read_text())
        for each in wrong(path.read_text())
        if str(path.relative_to(TESTS.parent)) not in BY_NAME
    }
    assert found == set()
