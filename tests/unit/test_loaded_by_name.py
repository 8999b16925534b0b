"""What is loaded by name: a name is a text, of which neither mypy nor import-linter knows whether it
is there, and takes what it is given.
"""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType

import pytest

import spark_jobs

FOLDER = Path(spark_jobs.__file__).parent
NAME = re.compile(r"spark_jobs(\.\w+)+(:\w+)?")
FORMER = {"spark_jobs.contract"}
"""Names that nothing has any more, on purpose (registry/find.py)."""


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _module(path: Path) -> ModuleType:
    return import_module(".".join(path.relative_to(FOLDER.parent).with_suffix("").parts))


def _texts(tree: ast.Module) -> Iterator[str]:
    """The names in a module, without those of docstrings."""
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docstrings and NAME.fullmatch(node.value):
                yield node.value


def _loads(node: ast.AST) -> bool:
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    return named and node.func.id in {"resolve_name", "_imported"}


def _found(call: ast.Call, module: ModuleType) -> object:
    """What it loads; None if only a run knows the name."""
    [name] = call.args
    try:
        return resolve_name(eval(ast.unparse(name), vars(module)))  # noqa: S307 - the product's own constants
    except NameError:
        return None


NAMES = sorted({text for path in FOLDER.rglob("*.py") for text in _texts(_parsed(path))} - FORMER)
LOADING = sorted(path for path in FOLDER.rglob("*.py") if any(map(_loads, ast.walk(_parsed(path)))))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_in_the_code_is_there(name):
    assert resolve_name(name)


@pytest.mark.parametrize("path", LOADING, ids=lambda path: str(path.relative_to(FOLDER)))
def test_what_is_loaded_by_a_fixed_name_takes_what_it_is_given(path):
    module = _module(path)
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Attribute) and _loads(node.value):
            found = _found(node.value, module)
            assert found is None or hasattr(found, node.attr), node.attr
        if isinstance(node, ast.Call) and _loads(node.func):
            found = _found(node.func, module)
            if found is not None and not any(isinstance(each, ast.Starred) for each in node.args):
                named = {each.arg: each for each in node.keywords if each.arg}
                signature(found).bind(*node.args, **named)
