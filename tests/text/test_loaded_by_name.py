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
LOADS = ("resolve_name", "_imported")
"""Functions that load."""
TREES = {
    path: ast.parse(text)
    for path in sorted(FOLDER.rglob("*.py"))
    if any(each in (text := path.read_text()) for each in ('"spark_jobs.', *LOADS))
}


def texts(tree: ast.Module) -> Iterator[str]:
    """The names in a module, without those of docstrings."""
    statements = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    docstrings = {id(node) for node in statements if isinstance(node, ast.Constant)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and NAME.fullmatch(text) and id(node) not in docstrings:
            yield text


def loads(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in LOADS


def loaded(call: ast.Call, module: ModuleType) -> object:
    """What it loads; None if only a run knows the name."""
    try:
        name = eval(ast.unparse(call.args[0]), vars(module))
    except NameError:
        return None
    return resolve_name(name)


@pytest.mark.parametrize(
    "name", sorted({text for tree in TREES.values() for text in texts(tree)} - FORMER)
)
def test_every_name_in_the_code_is_there(name):
    assert resolve_name(name)


@pytest.mark.parametrize(
    "path",
    [path for path, tree in TREES.items() if any(map(loads, ast.walk(tree)))],
    ids=lambda path: str(path.relative_to(FOLDER)),
)
def test_what_is_loaded_by_a_fixed_name_takes_what_it_is_given(path):
    module = import_module(".".join(path.relative_to(FOLDER.parent).with_suffix("").parts))
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.Attribute) and loads(node.value):
            found = loaded(node.value, module)
            assert found is None or hasattr(found, node.attr), node.attr
        if isinstance(node, ast.Call) and loads(node.func):
            found = loaded(node.func, module)
            given = {each.arg: each for each in node.keywords if each.arg}
            if found is not None and not any(isinstance(each, ast.Starred) for each in node.args):
                signature(found).bind(*node.args, **given)
